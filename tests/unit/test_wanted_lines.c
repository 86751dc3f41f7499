// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lines of memory are brought with samples, by what bursts lacked and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/source/wanted_lines.c"

enum { TGID = 40, PROGRAM = 0x400000, LINE = 0x601000 };

static struct comm_burst burst;
static struct comm_wanted wanted;

static int setup(void **state)
{
	struct comm_wanted_lines *lines;

	assert_int_equal(comm_wanted_lines_create(&lines), 0);
	comm_wanted_lines_met(lines, TGID, PROGRAM);
	*state = lines;
	return 0;
}

static int teardown(void **state)
{
	comm_wanted_lines_destroy(*state);
	return 0;
}

/* A burst that ends at addr, or 0, and has read the datum at read_addr. */
static bool met(struct comm_wanted_lines *lines, uint64_t lacked, uint64_t read_addr)
{
	memset(&burst, 0, sizeof(burst));
	burst.lacked = lacked;
	burst.n_accesses = 1;
	burst.access[0] = (struct comm_burst_access){
		.addr = read_addr, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	return comm_wanted_lines_burst(lines, TGID, &burst, &wanted);
}

static void test_a_line_lacked_twice(void **state)
{
	assert_false(met(*state, LINE + 8, 0));
	assert_false(met(*state, LINE + 64, 0));
	assert_true(met(*state, LINE + 63, 0));
	assert_int_equal(wanted.program, PROGRAM);
	assert_int_equal(wanted.addr[0], LINE);
	assert_int_equal(wanted.addr[1], 0);
	/* It is brought already. */
	assert_false(met(*state, LINE, 0));
}

static void fill(struct comm_wanted_lines *lines)
{
	for (unsigned int i = 0; i < 2 * COMM_WANTED_LINES; i++)
		met(lines, LINE + 64 * (i / 2), 0);
	assert_int_equal(wanted.addr[COMM_WANTED_LINES - 1], LINE + 64 * (COMM_WANTED_LINES - 1));
}

static bool is_wanted(uint64_t addr)
{
	for (unsigned int i = 0; i < COMM_WANTED_LINES; i++)
		if (wanted.addr[i] == addr)
			return true;
	return false;
}

/* What bursts read of what is brought keeps it: the line that nobody reads gives way. */
static void test_what_is_read_stays(void **state)
{
	fill(*state);
	for (unsigned int i = 1; i < COMM_WANTED_LINES; i++)
		assert_false(met(*state, 0, LINE + 64 * i));
	assert_false(met(*state, 0x900000, 0));
	assert_false(met(*state, 0x900000, 0)); /* as often as the first, which stays */
	assert_true(met(*state, 0x900000, 0));
	assert_true(is_wanted(0x900000));
	assert_false(is_wanted(LINE));
	assert_true(is_wanted(LINE + 64));
}

/* A line that is not lacked any more, nor read, is brought no longer. */
static void test_forgets(void **state)
{
	bool changed = false;

	fill(*state);
	for (unsigned int i = 0; i < 4096; i++)
		changed |= met(*state, 0, LINE);
	assert_true(changed);
	assert_int_equal(wanted.addr[0], LINE);
	assert_int_equal(wanted.addr[1], 0);
}

static void test_programs_apart(void **state)
{
	comm_wanted_lines_met(*state, TGID + 1, PROGRAM);
	comm_wanted_lines_met(*state, TGID + 2, PROGRAM + 0x1000);
	memset(&burst, 0, sizeof(burst));
	burst.lacked = LINE;
	assert_false(comm_wanted_lines_burst(*state, TGID, &burst, &wanted));
	assert_false(comm_wanted_lines_burst(*state, TGID + 2, &burst, &wanted));
	/* Forked processes learn together. */
	assert_true(comm_wanted_lines_burst(*state, TGID + 1, &burst, &wanted));
	assert_int_equal(wanted.program, PROGRAM);
	assert_true(comm_wanted_lines_burst(*state, TGID + 2, &burst, &wanted));
	assert_int_equal(wanted.program, PROGRAM + 0x1000);
	/* A sample without memory does not say which program it is of. */
	comm_wanted_lines_met(*state, TGID, 0);
	burst.lacked = LINE + 64;
	assert_false(comm_wanted_lines_burst(*state, TGID, &burst, &wanted));
	assert_true(comm_wanted_lines_burst(*state, TGID, &burst, &wanted));
	assert_int_equal(wanted.program, PROGRAM);
	/* Of a process that no sample came from nothing is known. */
	for (int i = 0; i < 3; i++)
		assert_false(comm_wanted_lines_burst(*state, 4, &burst, &wanted));
}

/* Many programs: the one that was used least recently is forgotten. */
static void test_bounded(void **state)
{
	memset(&burst, 0, sizeof(burst));
	burst.lacked = LINE;
	for (uint32_t i = 1; i < 1000; i++) {
		comm_wanted_lines_met(*state, i, i);
		assert_false(comm_wanted_lines_burst(*state, i, &burst, &wanted));
	}
	assert_true(comm_wanted_lines_burst(*state, 999, &burst, &wanted));
	assert_false(comm_wanted_lines_burst(*state, 1, &burst, &wanted));
	for (uint64_t i = 0; i < 10000; i++)
		met(*state, 0x10000000 + i * 64, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_line_lacked_twice),
		T(test_what_is_read_stays),
		T(test_forgets),
		T(test_programs_apart),
		T(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
