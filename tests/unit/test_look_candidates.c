// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/look_candidates.c"
#include "hash.h"

enum { ROOM = 4096, STEP = 100 };

static struct comm_look_interval interval[ROOM];
static struct comm_look_change change[COMM_LOOK_CHANGES_MAX];
static size_t n_intervals, n_changes;

static void reset(void)
{
	n_intervals = n_changes = 0;
}

static void ran(uint64_t from_ns, uint64_t to_ns, uint32_t tid)
{
	assert_true(n_intervals < ROOM);
	interval[n_intervals++] = (struct comm_look_interval){from_ns, to_ns, tid};
}

static void changed(uint64_t since_ns, uint64_t until_ns)
{
	change[n_changes++] = (struct comm_look_change){
		.since_ns = since_ns, .time_ns = until_ns, .until_ns = until_ns};
}

/* In its own piece of time the threads of tid, up to a 0, ran, and the word was found changed. */
static void changed_while(const uint32_t *tid)
{
	uint64_t from_ns = STEP * (n_changes + 1);

	for (; *tid; tid++)
		ran(from_ns + 10, from_ns + 90, *tid);
	changed(from_ns, from_ns + 90);
}

#define CHANGED_WHILE(...) changed_while((const uint32_t[]){__VA_ARGS__, 0})

static void settle(void)
{
	comm_look_candidates_settle(interval, n_intervals, change, n_changes);
}

static void test_one_candidate_is_the_writer(void **state)
{
	(void)state;
	reset();
	/* 1 had left at the look before, 2 came after this one. */
	ran(100, 200, 1);
	ran(200, 300, 3);
	ran(300, 400, 2);
	changed(200, 300);
	settle();
	assert_int_equal(change[0].n_candidates, 1);
	assert_int_equal(change[0].tid, 3);
}

static void test_two_that_always_run_are_not_told_apart(void **state)
{
	(void)state;
	reset();
	for (int i = 0; i < 200; i++)
		CHANGED_WHILE(1, 2);
	settle();
	for (size_t i = 0; i < n_changes; i++) {
		assert_int_equal(change[i].n_candidates, 2);
		assert_int_equal(change[i].tid, 0);
	}
}

/* How long they run is no evidence: the one that writes may do so at the beginning of its slice. */
static void test_time_is_no_evidence(void **state)
{
	(void)state;
	reset();
	for (uint64_t i = 1; i < 200; i++) {
		ran(STEP * i, STEP * i + 80, 1);
		ran(STEP * i + 5, STEP * i + 6, 2);
		changed(STEP * i, STEP * i + 80);
	}
	settle();
	for (size_t i = 0; i < n_changes; i++)
		assert_int_equal(change[i].tid, 0);
}

static void test_who_was_always_there_is_the_writer(void **state)
{
	(void)state;
	reset();
	for (uint32_t i = 0; i < 20; i++)
		CHANGED_WHILE(1, 10 + i % 4, 20 + i % 3);
	settle();
	for (size_t i = 0; i < n_changes; i++)
		assert_int_equal(change[i].tid, 1);
}

static void test_a_proven_writer_explains_what_is_shared(void **state)
{
	(void)state;
	reset();
	for (int i = 0; i < 20; i++) {
		CHANGED_WHILE(1);
		CHANGED_WHILE(1, 2);
	}
	settle();
	for (size_t i = 0; i < n_changes; i++)
		assert_int_equal(change[i].tid, 1);
}

/* Both write; whose a change is of which both are candidates is not known. */
static void test_two_writers(void **state)
{
	(void)state;
	reset();
	for (int i = 0; i < 20; i++) {
		CHANGED_WHILE(1);
		CHANGED_WHILE(2);
		CHANGED_WHILE(1, 2);
	}
	settle();
	for (size_t i = 0; i < n_changes; i++)
		assert_int_equal(change[i].tid, i % 3 < 2 ? i % 3 + 1 : 0);
}

/* One that writes three times as often is the likelier of the two, and one in four would be wrong. */
static void test_likelier_is_not_sure(void **state)
{
	(void)state;
	reset();
	for (int i = 0; i < 20; i++) {
		CHANGED_WHILE(1);
		CHANGED_WHILE(1);
		CHANGED_WHILE(1);
		CHANGED_WHILE(2);
		CHANGED_WHILE(1, 2);
	}
	settle();
	for (size_t i = 0; i < n_changes; i++)
		assert_int_equal(change[i].tid, i % 5 < 3 ? 1 : i % 5 == 3 ? 2 : 0);
}

/* One change says nothing of who of its two candidates it was; nor is chance taken for evidence. */
static void test_little_evidence_is_none(void **state)
{
	(void)state;
	reset();
	CHANGED_WHILE(1, 2);
	CHANGED_WHILE(1, 3);
	settle();
	assert_int_equal(change[0].tid, 0);
	assert_int_equal(change[1].tid, 0);
}

static void test_a_single_writer_is_never_taken_for_another(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		reset();
		for (int i = 0; i < 60; i++) {
			uint32_t who[5] = {1}, n = 1;

			/* The second is there nearly always, the others by chance. */
			for (uint32_t k = 2; k < 5; k++)
				if (comm_hash_uniform(&random) < (k == 2 ? 0.95 : 0.3))
					who[n++] = k;
			changed_while(who);
		}
		settle();
		for (size_t i = 0; i < n_changes; i++)
			assert_true(!change[i].tid || change[i].tid == 1);
	}
}

static void test_nobody_ran(void **state)
{
	(void)state;
	reset();
	ran(100, 200, 1);
	changed(200, 300); /* by another process */
	changed(0, 400);   /* the look before failed */
	settle();
	for (size_t i = 0; i < n_changes; i++) {
		assert_int_equal(change[i].n_candidates, 0);
		assert_int_equal(change[i].tid, 0);
	}
	comm_look_candidates_settle(NULL, 0, NULL, 0);
}

/* A long interval that began first is met by all looks; looks may come out of order. */
static void test_long_intervals(void **state)
{
	(void)state;
	reset();
	ran(0, 1000000, 1);
	for (uint64_t i = 1; i < 100; i++) {
		ran(STEP * i, STEP * i + 50, 2);
		changed(STEP * i + 60 - (i % 2) * 30, STEP * (i + 1));
	}
	settle();
	for (size_t i = 0; i < n_changes; i++)
		assert_int_equal(change[i].n_candidates, i % 2 ? 1 : 2);
}

/* Of CPUs that look at once the second may have begun first. */
static void test_looks_out_of_order(void **state)
{
	(void)state;
	reset();
	ran(100, 250, 1);
	ran(110, 150, 3);
	ran(120, 200, 4);
	ran(290, 350, 2);
	changed(260, 350);
	changed(150, 340);
	settle();
	assert_int_equal(change[0].n_candidates, 1);
	/* Not 3, which left with the look before. */
	assert_int_equal(change[1].n_candidates, 3);
}

static void test_too_many_candidates(void **state)
{
	(void)state;
	reset();
	for (uint32_t i = 1; i < 200; i++)
		ran(100, 200, i);
	changed(100, 200);
	ran(300, 400, 1000);
	changed(300, 400);
	settle();
	assert_int_equal(change[0].tid, 0);
	assert_int_equal(change[1].tid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_candidate_is_the_writer),
		cmocka_unit_test(test_two_that_always_run_are_not_told_apart),
		cmocka_unit_test(test_time_is_no_evidence),
		cmocka_unit_test(test_who_was_always_there_is_the_writer),
		cmocka_unit_test(test_a_proven_writer_explains_what_is_shared),
		cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_likelier_is_not_sure),
		cmocka_unit_test(test_little_evidence_is_none),
		cmocka_unit_test(test_a_single_writer_is_never_taken_for_another),
		cmocka_unit_test(test_nobody_ran),
		cmocka_unit_test(test_long_intervals),
		cmocka_unit_test(test_looks_out_of_order),
		cmocka_unit_test(test_too_many_candidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
