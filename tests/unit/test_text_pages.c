// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of code: what is read once, for whom, and what is read anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "text_pages.h"

enum { FILE_NUMBER = 7, START = 0x10000, OFFSET = 0x3000, BYTES = 0x3000 };

static const struct comm_mapping text = {
	.start = START,
	.end = START + BYTES,
	.offset = OFFSET,
	.file = FILE_NUMBER,
	.kind = COMM_MAP_FILE,
	.readable = true,
	.executable = true,
};

static struct comm_text_pages *pages;
static unsigned int n_asked;
static uint64_t unreadable = UINT64_MAX; /* from this address on nothing can be read */
static uint8_t edition;

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 31 + offset / 256 + edition);
}

/* Every process has the file where the first has it, and as much higher as its number. */
static ssize_t ask(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	uint64_t offset = addr - (uint64_t)tgid * BYTES - START + OFFSET;

	(void)ctx;
	n_asked++;
	if (addr >= unreadable)
		return -EIO;
	for (size_t i = 0; i < len_bytes; i++)
		((uint8_t *)buf)[i] = byte_at(offset + i);
	return (ssize_t)len_bytes;
}

static void expect_read(uint32_t tgid, const struct comm_mapping *m, uint64_t at, size_t bytes,
			uint64_t now_ns)
{
	uint8_t got[BYTES];

	assert_int_equal(comm_text_pages_read(pages, tgid, m, m->start + at, got, bytes, now_ns),
			 (ssize_t)bytes);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(got[i], byte_at(OFFSET + at + i));
}

static int setup(void **state)
{
	(void)state;
	n_asked = 0;
	edition = 0;
	unreadable = UINT64_MAX;
	return comm_text_pages_create(ask, NULL, &pages);
}

static int teardown(void **state)
{
	(void)state;
	comm_text_pages_destroy(pages);
	return 0;
}

/* A page is read once, for all processes that have it mapped, wherever that is. */
static void test_once(void **state)
{
	struct comm_mapping other = text;

	(void)state;
	expect_read(0, &text, 0x10, 512, 1);
	expect_read(0, &text, 0x800, 64, 2);
	assert_int_equal(n_asked, 1);
	other.start += 2 * BYTES;
	other.end += 2 * BYTES;
	expect_read(2, &other, 0x20, 512, 3);
	assert_int_equal(n_asked, 1);
	/* From one page into the next. */
	expect_read(0, &text, 0xf80, 512, 4);
	assert_int_equal(n_asked, 2);
}

/* Another file, or another part of it, has bytes of its own. */
static void test_another(void **state)
{
	struct comm_mapping m = text;

	(void)state;
	expect_read(0, &text, 0, 64, 1);
	m.file++;
	edition = 1;
	expect_read(0, &m, 0, 64, 2);
	assert_int_equal(n_asked, 2);
}

/* What was changed in memory is seen when the page has become old. */
static void test_old(void **state)
{
	uint8_t was, got;

	(void)state;
	assert_int_equal(comm_text_pages_read(pages, 0, &text, START, &was, 1, 1), 1);
	edition = 1;
	assert_int_equal(comm_text_pages_read(pages, 0, &text, START, &got, 1, COMM_TEXT_PAGE_NS),
			 1);
	assert_int_equal(got, was);
	expect_read(0, &text, 0, 64, COMM_TEXT_PAGE_NS + 1);
}

/* Code that a program may write, or has made, is read each time, and no more of it than was asked for. */
static void test_not_kept(void **state)
{
	struct comm_mapping m = text;

	(void)state;
	m.writable = true;
	expect_read(0, &m, 0, 64, 1);
	edition = 1;
	expect_read(0, &m, 0, 64, 1);
	m = text;
	m.executable = false;
	expect_read(0, &m, 0, 64, 1);
	edition = 2;
	expect_read(0, &m, 0, 64, 1);
	m = text;
	m.kind = COMM_MAP_ANON;
	m.file = 0;
	expect_read(0, &m, 0, 64, 1);
	assert_int_equal(n_asked, 5);
}

/* A page that is not there whole ends what is read, and alone it is read as far as it goes. */
static void test_unreadable(void **state)
{
	uint8_t got[512];

	(void)state;
	unreadable = START + 0x1000;
	assert_int_equal(comm_text_pages_read(pages, 0, &text, START + 0xf80, got, 512, 1), 0x80);
	assert_int_equal(comm_text_pages_read(pages, 0, &text, START + 0x1000, got, 512, 1), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
