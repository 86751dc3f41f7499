// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/look_pairs.c"

enum { READER = 1, WRITER = 2, LATER = 3 };

static struct comm_look_pair pair[COMM_LOOK_PAIRS_MAX];
static unsigned int n;

#define FIND(n_intervals, intervals, n_changes, changes)                                    \
	(n = comm_look_pairs(READER, (struct comm_look_interval[]){intervals}, n_intervals, \
			     (struct comm_look_change[]){changes}, n_changes, pair))
#define LIST(...) __VA_ARGS__

static double share_of(uint32_t tid)
{
	double ret = 0;

	for (unsigned int i = 0; i < n; i++)
		if (pair[i].tid == tid)
			ret += pair[i].share;
	return ret;
}

static struct comm_look_change by(uint32_t tid, uint64_t time_ns)
{
	return (struct comm_look_change){.time_ns = time_ns, .tid = tid};
}

static void test_the_last_writer_feeds(void **state)
{
	(void)state;
	/* The first interval is before any change, the third another thread's. */
	FIND(4, LIST({0, 90, READER}, {200, 260, READER}, {300, 900, 9}, {600, 640, READER}), 3,
	     LIST(by(LATER, 100), by(WRITER, 200), by(LATER, 500)));
	assert_int_equal(n, 2);
	assert_true(share_of(WRITER) > 0.599 && share_of(WRITER) < 0.601);
	assert_true(share_of(LATER) > 0.399 && share_of(LATER) < 0.401);
	assert_int_equal(pair[0].tid, WRITER);
	assert_int_equal(pair[0].read_ns, 200);
	assert_int_equal(pair[0].write_ns, 200);
	assert_int_equal(pair[1].read_ns, 600);
	assert_int_equal(pair[1].write_ns, 500);
}

static void test_a_change_meanwhile_parts_the_interval(void **state)
{
	(void)state;
	FIND(1, LIST({100, 200, READER}), 2, LIST(by(WRITER, 50), by(LATER, 175)));
	assert_true(share_of(WRITER) == 0.75);
	assert_true(share_of(LATER) == 0.25);
}

/* Whether it reads before it writes or after, nobody sees: a freed block that it takes looks like a message. */
static void test_the_reader_writes_itself(void **state)
{
	(void)state;
	FIND(1, LIST({100, 250, READER}), 2, LIST(by(WRITER, 50), by(READER, 200)));
	assert_true(share_of(WRITER) == 0);
	assert_true(share_of(0) > 0.66 && share_of(0) < 0.67);
	assert_true(share_of(READER) > 0.33 && share_of(READER) < 0.34);
	FIND(2, LIST({100, 200, READER}, {300, 400, READER}), 2,
	     LIST(by(READER, 200), by(READER, 400)));
	assert_true(share_of(READER) == 1);
}

static void test_not_known_is_given_out(void **state)
{
	(void)state;
	FIND(2, LIST({100, 200, READER}, {300, 400, READER}), 2, LIST(by(WRITER, 50), by(0, 250)));
	assert_int_equal(n, 2);
	assert_true(share_of(0) == 0.5);
}

static void test_a_reader_that_did_not_run(void **state)
{
	(void)state;
	/* It ran before the first change. */
	FIND(2, LIST({0, 10, READER}, {100, 800, WRITER}), 2,
	     LIST(by(WRITER, 200), by(WRITER, 300)));
	assert_int_equal(n, 0);
}

static void test_no_change(void **state)
{
	(void)state;
	assert_int_equal(comm_look_pairs(READER, &(struct comm_look_interval){0, 10, READER}, 1,
					 NULL, 0, pair),
			 0);
}

static void test_as_many_writers_as_changes(void **state)
{
	struct comm_look_change change[COMM_LOOK_CHANGES_MAX];

	(void)state;
	for (uint32_t i = 0; i < COMM_LOOK_CHANGES_MAX; i++)
		change[i] = by(10 + i, 10 * (i + 1));
	n = comm_look_pairs(READER, &(struct comm_look_interval){0, 100000, READER}, 1, change,
			    COMM_LOOK_CHANGES_MAX, pair);
	assert_int_equal(n, COMM_LOOK_CHANGES_MAX);
	assert_true(share_of(10 + COMM_LOOK_CHANGES_MAX - 1) > 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_writer_feeds),
		cmocka_unit_test(test_a_change_meanwhile_parts_the_interval),
		cmocka_unit_test(test_the_reader_writes_itself),
		cmocka_unit_test(test_not_known_is_given_out),
		cmocka_unit_test(test_a_reader_that_did_not_run),
		cmocka_unit_test(test_no_change),
		cmocka_unit_test(test_as_many_writers_as_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
