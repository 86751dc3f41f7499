// SPDX-License-Identifier: GPL-2.0-or-later
#include "jitmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct comm_names *names;
static struct comm_jitmap *map;

static int setup(void **state)
{
	(void)state;
	if (comm_names_create(1 << 20, &names) < 0)
		return -1;
	return comm_jitmap_create(names, &map);
}

static int teardown(void **state)
{
	(void)state;
	comm_jitmap_destroy(map);
	comm_names_destroy(names);
	return 0;
}

static void feed(const char *text)
{
	assert_int_equal(comm_jitmap_text(map, text, strlen(text)), 0);
}

static const char *at(uint64_t addr)
{
	uint64_t start, end;
	const char *name = comm_jitmap_find(map, addr, &start, &end);

	if (name)
		assert_true(start <= addr && addr < end);
	return name ? name : "-";
}

static void finds(void **state)
{
	(void)state;
	feed("7f00 10 first name\n0x8000 0x20 LB;::run\n");
	assert_string_equal(at(0x7eff), "-");
	assert_string_equal(at(0x7f00), "first name");
	assert_string_equal(at(0x7f0f), "first name");
	assert_string_equal(at(0x7f10), "-");
	assert_string_equal(at(0x801f), "LB;::run");
}

static void the_later_wins(void **state)
{
	(void)state;
	feed("1000 100 old\n");
	assert_string_equal(at(0x1010), "old");
	feed("1008 10 new\n");
	assert_string_equal(at(0x1010), "new");
	assert_string_equal(at(0x1020), "old");
	feed("1000 100 newest\n");
	assert_string_equal(at(0x1010), "newest");
	assert_int_equal(comm_jitmap_entries(map), 2);
}

static void damaged_lines_are_left_out(void **state)
{
	static char line[10000];

	(void)state;
	memset(line, 'a', sizeof(line) - 2);
	memcpy(line, "2000 10 ", 8);
	line[sizeof(line) - 2] = '\n';
	feed("\n1000\n1000 \nzz 10 x\n1000 0 empty\nffffffffffffffff 10 wraps\n"
	     "11111111111111111111 1 long\n");
	feed(line);
	assert_int_equal(comm_jitmap_entries(map), 0);
	feed("3000 10 \033]0;evil\007\n");
	assert_string_equal(at(0x3000), "?]0;evil?");
}

static void lines_may_come_in_pieces(void **state)
{
	(void)state;
	feed("40");
	feed("00 1");
	feed("0 so");
	assert_string_equal(at(0x4000), "-");
	feed("me\n5000 10 next\n");
	assert_string_equal(at(0x4000), "some");
	assert_string_equal(at(0x5000), "next");
}

static void append(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void reads_what_was_added(void **state)
{
	char path[] = "/tmp/test_jitmap.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	append(fd, "1000 10 one\n20");
	assert_int_equal(comm_jitmap_read(map, fd), 0);
	assert_string_equal(at(0x1000), "one");
	append(fd, "00 10 two\n");
	assert_int_equal(comm_jitmap_read(map, fd), 0);
	assert_string_equal(at(0x2000), "two");
	assert_int_equal(comm_jitmap_entries(map), 2);
	/* Another process with this pid began anew. */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	append(fd, "3000 10 x\n");
	assert_int_equal(comm_jitmap_read(map, fd), 0);
	assert_string_equal(at(0x1000), "-");
	assert_string_equal(at(0x3000), "x");
	close(fd);
	assert_true(comm_jitmap_read(map, fd) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds, setup, teardown),
		cmocka_unit_test_setup_teardown(the_later_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_lines_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_may_come_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_what_was_added, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
