// SPDX-License-Identifier: GPL-2.0-or-later
/* Touches: of the page itself, and of pages beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ids.h"
#include "touch.h"

enum { PAGE = 4096, KIB_256 = 1 << 18, MIB_2 = 1 << 21, MIB_16 = 1 << 24, SITE = 9 };

static const uint64_t base = (3ull << 48) + (1ull << 32);
static struct comm_touches *touches;

static int setup(void **state)
{
	(void)state;
	return comm_touches_create(&touches);
}

static int teardown(void **state)
{
	(void)state;
	comm_touches_destroy(touches);
	return 0;
}

static void touch(uint64_t time_ns, uint64_t offset, uint32_t thread)
{
	comm_touches_add(touches, &(struct comm_touch){.time_ns = time_ns,
						       .datum = base + offset,
						       .size_bytes = PAGE,
						       .thread = thread,
						       .site = SITE});
}

/* Its thread; 0: none. */
static uint32_t of(uint64_t offset)
{
	const struct comm_touch *t = comm_touches_of(touches, base + offset, false, false, 100);

	return t ? t->thread : 0;
}

static void the_page_itself(void **state)
{
	(void)state;
	assert_true(comm_touches_none(touches));
	touch(10, 0, 1);
	touch(20, 0, 2);
	touch(200, 0, 3);
	assert_false(comm_touches_none(touches));
	/* The latest before the read. */
	assert_int_equal(of(PAGE - 1), 2);
	/* One that was told late, where there is none before. */
	touch(200, PAGE, 1);
	assert_int_equal(of(PAGE), 1);
	assert_null(comm_touches_of(touches, base - PAGE, false, true, 100));
}

/* What is told of 256 KiB is of all pages there, and so on; what two threads touched is of neither. */
static void pages_beside_it(void **state)
{
	const struct comm_touch *t;

	(void)state;
	touch(10, 5 * PAGE, 1);
	assert_int_equal(of(0), 1);
	assert_int_equal(of(KIB_256), 1);
	assert_int_equal(of(MIB_2), 1);
	assert_int_equal(of(MIB_16 - 1), 1);
	assert_int_equal(of(MIB_16), 0);
	touch(10, 2 * KIB_256, 2);
	assert_int_equal(of(0), 1);
	assert_int_equal(of(KIB_256), 0);
	assert_int_equal(of(2 * KIB_256 + PAGE), 2);
	assert_int_equal(of(MIB_2), 0);
	touch(10, MIB_2, 3);
	assert_int_equal(of(MIB_2 + KIB_256), 3);
	/* Which code, only if they agree. */
	t = comm_touches_of(touches, base, false, false, 100);
	assert_int_equal(t->site, SITE);
	comm_touches_add(touches, &(struct comm_touch){.time_ns = 20,
						       .datum = base + 7 * PAGE,
						       .size_bytes = PAGE,
						       .thread = 1,
						       .site = SITE + 1});
	t = comm_touches_of(touches, base, false, false, 100);
	assert_int_equal(t->site, COMM_SITE_FIRST_WRITE);
	assert_int_equal(comm_touches_of(touches, base + 7 * PAGE, false, false, 100)->site,
			 SITE + 1);
}

/* A page of a file holds what the file does, whatever was written in the next one. */
static void pages_of_files(void **state)
{
	(void)state;
	comm_touches_add(touches, &(struct comm_touch){.time_ns = 10,
						       .datum = base,
						       .size_bytes = 2 * PAGE,
						       .thread = 1,
						       .of_file = true});
	assert_int_equal(of(PAGE), 1);
	assert_int_equal(of(2 * PAGE), 0);
	touch(10, 4 * PAGE, 2);
	assert_int_equal(of(2 * PAGE), 2);
	assert_null(comm_touches_of(touches, base + 2 * PAGE, false, true, 100));
	/* What the loader wrote is what is constant now. */
	comm_touches_add(touches, &(struct comm_touch){.time_ns = 10,
						       .datum = base + MIB_16,
						       .size_bytes = PAGE,
						       .thread = 3,
						       .of_file = true,
						       .loads = true});
	assert_null(comm_touches_of(touches, base + MIB_16, false, true, 100));
	assert_int_equal(comm_touches_of(touches, base + MIB_16, true, true, 100)->thread, 3);
}

/* Memory for areas ends; then fewer are known, and none wrongly. */
static void many_areas(void **state)
{
	uint32_t known = 0;

	(void)state;
	for (uint32_t i = 0; i < 1 << 16; i++)
		touch(10, (uint64_t)i * KIB_256 + PAGE, 1 + i % 7);
	for (uint32_t i = 0; i < 1 << 16; i++) {
		uint32_t thread = of((uint64_t)i * KIB_256);

		assert_true(!thread || thread == 1 + i % 7);
		known += thread != 0;
	}
	assert_true(known > 1 << 14);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_page_itself),
		TEST(pages_beside_it),
		TEST(pages_of_files),
		TEST(many_areas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
