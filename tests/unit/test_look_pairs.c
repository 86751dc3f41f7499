// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/look_pairs.c"

enum { READER = 1, WRITER = 2, LATER = 3 };

static struct comm_look_pair pair[COMM_LOOK_PAIRS_MAX];
static unsigned int n;
static enum comm_look_unknown why;

static struct comm_look_read the_read;

static void find(const struct comm_look_interval *interval, size_t n_intervals,
		 const struct comm_look_change *change, size_t n_changes)
{
	the_read.tid = READER;
	n = comm_look_pairs(&the_read, interval, n_intervals, change, n_changes, pair, &why);
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define FIND(intervals, changes) find(intervals, COUNT(intervals), changes, COUNT(changes))

static int no_value(void **state)
{
	(void)state;
	the_read = (struct comm_look_read){0};
	return 0;
}

static double share_of(uint32_t tid)
{
	double ret = 0;

	for (unsigned int i = 0; i < n; i++)
		if (pair[i].tid == tid)
			ret += pair[i].share;
	return ret;
}

#define BY(writer, at_ns, what)                                      \
	{                                                            \
		.tid = (writer), .time_ns = (at_ns), .value = (what) \
	}

static void test_one_thread_makes_all_changes(void **state)
{
	/* The first interval is before any change, the third another thread's. */
	static const struct comm_look_interval interval[] = {
		{0, 90, READER}, {200, 260, READER}, {300, 900, 9}, {600, 640, READER}};
	static const struct comm_look_change change[] = {BY(WRITER, 100, 1), BY(WRITER, 200, 2),
							 BY(WRITER, 500, 3), BY(WRITER, 620, 4)};

	(void)state;
	FIND(interval, change);
	assert_int_equal(n, 1);
	assert_int_equal(pair[0].tid, WRITER);
	assert_true(pair[0].share == 1);
	assert_int_equal(pair[0].read_ns, 200);
	assert_int_equal(pair[0].write_ns, 200);
}

/* A word that the reader never ran beside, once it had changed. */
static void test_a_reader_that_did_not_run(void **state)
{
	static const struct comm_look_interval interval[] = {{0, 100, READER}, {100, 800, WRITER}};
	static const struct comm_look_change change[] = {BY(WRITER, 200, 1), BY(WRITER, 300, 2),
							 BY(WRITER, 400, 3), BY(WRITER, 500, 4)};

	(void)state;
	FIND(interval, change);
	assert_int_equal(n, 0);
	assert_int_equal(why, COMM_LOOK_IDLE);
}

/*
 * The head of a block that the reader takes, writes, reads and hands on, and that another one frees.  It runs
 * for long while the block is free, and reads nothing of it then.
 */
static void test_a_block_that_comes_back(void **state)
{
	static const struct comm_look_interval interval[] = {{0, 1000, READER}};
	static const struct comm_look_change change[] = {BY(WRITER, 100, 7), BY(READER, 400, 5),
							 BY(WRITER, 500, 7), BY(READER, 800, 5)};

	(void)state;
	FIND(interval, change);
	assert_int_equal(n, 0);
	the_read = (struct comm_look_read){.has_value = true, .value = 5};
	FIND(interval, change);
	assert_int_equal(n, 1);
	assert_int_equal(pair[0].tid, READER);
	assert_int_equal(pair[0].read_ns, 400);
	/* What it took out of the free list. */
	the_read.value = 7;
	FIND(interval, change);
	assert_true(share_of(WRITER) == 1);
	/* A value that did not come again. */
	the_read.value = 6;
	FIND(interval, change);
	assert_int_equal(n, 0);
}

/* The freed block alone was seen: the reader's own writes may lie between the looks. */
static void test_few_changes_are_little_evidence(void **state)
{
	static const struct comm_look_interval interval[] = {{0, 1000, READER}};
	static const struct comm_look_change change[] = {BY(WRITER, 100, 7), BY(WRITER, 200, 8),
							 BY(WRITER, 300, 9)};

	(void)state;
	the_read = (struct comm_look_read){.has_value = true, .value = 5};
	FIND(interval, change);
	assert_int_equal(n, 0);
	assert_int_equal(why, COMM_LOOK_FEW);
	the_read.value = 8;
	FIND(interval, change);
	assert_int_equal(why, COMM_LOOK_KNOWN);
	assert_int_equal(n, 1);
	assert_int_equal(pair[0].tid, WRITER);
	assert_int_equal(pair[0].write_ns, 200);
}

static void test_two_write_the_value(void **state)
{
	static const struct comm_look_change change[] = {BY(WRITER, 100, 0), BY(LATER, 200, 0),
							 BY(READER, 300, 1), BY(WRITER, 400, 0),
							 BY(0, 500, 0)};
	static const struct comm_look_interval interval[] = {{0, 50, READER}};

	(void)state;
	the_read.has_value = true;
	FIND(interval, change);
	assert_int_equal(n, 3);
	assert_true(share_of(WRITER) == 0.5 && share_of(LATER) == 0.25 && share_of(0) == 0.25);
}

/* It may be the reader's. */
static void test_a_change_of_no_known_writer(void **state)
{
	static const struct comm_look_interval interval[] = {{100, 200, READER},
							     {300, 400, READER}};
	static const struct comm_look_change change[] = {BY(WRITER, 50, 1), BY(WRITER, 60, 2),
							 BY(WRITER, 70, 3), BY(0, 250, 4)};

	(void)state;
	FIND(interval, change);
	assert_int_equal(n, 0);
	assert_int_equal(why, COMM_LOOK_SEVERAL);
}

static void test_no_change(void **state)
{
	static const struct comm_look_interval interval[] = {{0, 10, READER}};

	(void)state;
	the_read.has_value = true;
	find(interval, 1, NULL, 0);
	assert_int_equal(n, 0);
	assert_int_equal(why, COMM_LOOK_QUIET);
}

static void test_as_many_writers_as_changes(void **state)
{
	static struct comm_look_change change[COMM_LOOK_CHANGES_MAX];

	(void)state;
	the_read.has_value = true;
	for (uint32_t i = 0; i < COMM_LOOK_CHANGES_MAX; i++)
		change[i] = (struct comm_look_change)BY(10 + i, 10 * (i + 1), 0);
	find(NULL, 0, change, COMM_LOOK_CHANGES_MAX);
	assert_int_equal(n, COMM_LOOK_CHANGES_MAX);
	assert_true(pair[0].share == 1.0 / COMM_LOOK_CHANGES_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, no_value)
	const struct CMUnitTest tests[] = {
		TEST(test_one_thread_makes_all_changes),
		TEST(test_a_reader_that_did_not_run),
		TEST(test_a_block_that_comes_back),
		TEST(test_few_changes_are_little_evidence),
		TEST(test_two_write_the_value),
		TEST(test_a_change_of_no_known_writer),
		TEST(test_no_change),
		TEST(test_as_many_writers_as_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
