// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch_next.h"

enum { OBJECT = 3, READER = 1, WRITER = 2, OTHER = 4, SITE = 7 };

static const uint64_t here = 0x100000, there = 0x900000;

static struct comm_watch_next *new_watched(void)
{
	struct comm_watch_next *w;

	assert_int_equal(comm_watch_next_create(&w), 0);
	return w;
}

static void answers(struct comm_watch_next *w, struct comm_watch_next_read read, uint32_t writer,
		    double foretold, int n)
{
	const struct comm_watch_next_write write = {writer, SITE};
	const struct comm_watch_next_writer told = {writer, SITE, foretold};

	while (n--)
		comm_watch_next_add(w, &read, &write, &told, 1);
}

/* Returns the share of one writer; *all is that of all writers. */
static double share(const struct comm_watch_next *w, struct comm_watch_next_read read,
		    uint32_t writer, double *ret_all)
{
	struct comm_watch_next_writer of[COMM_WATCH_NEXT_WRITERS];
	uint32_t n = comm_watch_next_shares(w, &read, of), i;
	double mine = 0, all = 0;

	for (i = 0; i < n; i++) {
		assert_true(of[i].share >= 0 && of[i].site == SITE);
		all += of[i].share;
		mine += of[i].thread == writer ? of[i].share : 0;
	}
	assert_true(all <= 1);
	if (ret_all)
		*ret_all = all;
	return mine;
}

static void test_nothing(void **state)
{
	struct comm_watch_next *w = new_watched();
	struct comm_watch_next_writer of[COMM_WATCH_NEXT_WRITERS];

	(void)state;
	assert_int_equal(comm_watch_next_shares(w, &(struct comm_watch_next_read){0}, of), 0);
	assert_int_equal(
		comm_watch_next_shares(
			w, &(struct comm_watch_next_read){READER, OBJECT, here, false}, of),
		0);
	comm_watch_next_destroy(w);
}

/*
 * An estimator that predicts the answers of watchpoints keeps its weight, one that
 * does not loses it.
 */
static void test_trust(void **state)
{
	const struct comm_watch_next_read read = {READER, OBJECT, here, false};
	struct comm_watch_next *w = new_watched();
	double all;

	(void)state;
	answers(w, read, WRITER, 0.95, 2);
	answers(w, read, OTHER, 0.95, 2);
	share(w, read, WRITER, &all);
	assert_true(all < 0.05);
	answers(w, read, WRITER, 0.95, 100);
	share(w, read, WRITER, &all);
	assert_true(all < 0.01);
	comm_watch_next_destroy(w);

	w = new_watched();
	answers(w, read, WRITER, 0, 1);
	assert_true(share(w, read, WRITER, NULL) < 0.2); /* once is not enough */
	answers(w, read, WRITER, 0, 9);
	assert_true(share(w, read, WRITER, NULL) > 0.8);
	/* Many answers about other places do not push those out. */
	for (uint32_t i = 0; i < 8000; i++)
		answers(w, (struct comm_watch_next_read){READER, OBJECT + 1 + i, here, false},
			WRITER, 0, 1);
	assert_true(share(w, read, WRITER, NULL) > 0.8);
	/* Data with an observed write are learnt separately. */
	share(w, (struct comm_watch_next_read){READER, OBJECT, here, true}, WRITER, &all);
	assert_true(all < 0.1);
	comm_watch_next_destroy(w);
}

/* An estimate of the last writer need not predict the next writer: it keeps its weight. */
static void test_turns(void **state)
{
	const struct comm_watch_next_read read = {READER, OBJECT, here, true};
	struct comm_watch_next *w = new_watched();
	uint32_t random = 1;
	double all;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct comm_watch_next_write next;
		struct comm_watch_next_writer last;

		random = random * 1664525 + 1013904223;
		next = (struct comm_watch_next_write){random >> 30, SITE};
		last = (struct comm_watch_next_writer){random >> 28 & 3, SITE, 0.95};
		comm_watch_next_add(w, &read, &next, &last, 1);
	}
	share(w, read, WRITER, &all);
	assert_true(all < 0.02);
	comm_watch_next_destroy(w);
}

static void test_shares(void **state)
{
	const struct comm_watch_next_read read = {READER, OBJECT, here, false};
	struct comm_watch_next *w = new_watched();
	double all;
	int i;

	(void)state;
	for (i = 0; i < 30; i++) {
		answers(w, read, WRITER, 0, 3);
		answers(w, read, OTHER, 0, 1);
	}
	assert_true(fabs(share(w, read, WRITER, &all) - 0.75) < 0.05 && all > 0.95);
	/*
	 * A new reader begins with the answers of this reader, a new place with those
	 * of its object.
	 */
	assert_true(share(w, (struct comm_watch_next_read){9, OBJECT, here, false}, WRITER, NULL) >
		    0.6);
	assert_true(share(w, (struct comm_watch_next_read){READER, OBJECT, there, false}, WRITER,
			  NULL) > 0.6);
	assert_true(share(w, (struct comm_watch_next_read){READER, OBJECT + 1, here, false}, WRITER,
			  NULL) == 0);
	/* A place where the estimator is right goes its own way. */
	answers(w, (struct comm_watch_next_read){READER, OBJECT, there, false}, 5, 1, 20);
	share(w, (struct comm_watch_next_read){READER, OBJECT, there, false}, 5, &all);
	assert_true(all < 0.3);
	/* Where most watches see no write, the estimator's last writer is kept. */
	for (i = 0; i < 300; i++)
		comm_watch_next_add(w, &read, NULL, NULL, 0);
	share(w, read, WRITER, &all);
	assert_true(all < 0.5);
	comm_watch_next_destroy(w);
}

/* Where each thread writes what it reads, as of workers' buffers in one heap, none writes another's. */
static void test_own(void **state)
{
	struct comm_watch_next *w = new_watched();
	double all;

	(void)state;
	for (int i = 0; i < 90; i++) {
		const uint32_t thread = READER + (uint32_t)i % 3;
		const struct comm_watch_next_write write = {thread, SITE};

		comm_watch_next_add(w,
				    &(struct comm_watch_next_read){
					    thread, OBJECT, here + ((uint64_t)thread << 20), false},
				    &write, NULL, 0);
	}
	assert_true(share(w,
			  (struct comm_watch_next_read){READER, OBJECT,
							here + ((uint64_t)READER << 20), false},
			  READER, &all) > 0.9 * all &&
		    all > 0.8);
	/* A thread that no watch was of, and a place, too. */
	assert_true(share(w, (struct comm_watch_next_read){9, OBJECT, there, false}, 9, &all) >
			    0.9 * all &&
		    all > 0.8);
	comm_watch_next_destroy(w);

	/* Own writes elsewhere do not hide who writes what all read. */
	w = new_watched();
	for (int i = 0; i < 30; i++) {
		answers(w, (struct comm_watch_next_read){WRITER, OBJECT, there, false}, WRITER, 0,
			1);
		answers(w, (struct comm_watch_next_read){READER, OBJECT, here, false}, WRITER, 0,
			1);
	}
	assert_true(share(w, (struct comm_watch_next_read){READER, OBJECT, here, false}, WRITER,
			  NULL) > 0.8);
	comm_watch_next_destroy(w);
}

/* More writers, readers and objects than there is room for. */
static void test_bounds(void **state)
{
	struct comm_watch_next *w = new_watched();
	uint32_t i;
	double all;

	(void)state;
	for (i = 0; i < 200000; i++)
		answers(w,
			(struct comm_watch_next_read){i % 300, i % 7001, (uint64_t)i << 15, false},
			i % 50, 0, 1);
	for (i = 0; i < 1000; i++)
		answers(w, (struct comm_watch_next_read){READER, OBJECT, here, false}, i % 50, 0,
			1);
	share(w, (struct comm_watch_next_read){READER, OBJECT, here, false}, 49, &all);
	assert_true(all <= 1);
	comm_watch_next_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_trust),
		cmocka_unit_test(test_turns),	cmocka_unit_test(test_shares),
		cmocka_unit_test(test_own),	cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
