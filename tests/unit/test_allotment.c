// SPDX-License-Identifier: GPL-2.0-or-later
/* What may be spent of a budget, whatever was spent before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/companion/allotment.c"

enum { MS = 1000 * 1000, TURN_MS = 50, TICK_MS = 200 };

static uint64_t spent_ns;

/*
 * Turns for some seconds, in which the budget grows by so much a second, at each tick, and each turn
 * that may costs some.  Returns what was spent.
 */
static double play(struct comm_allotment *a, uint64_t *now_ms, uint64_t *all_ns,
		   unsigned int seconds, uint64_t all_ns_per_s, uint64_t cost_ns)
{
	uint64_t before_ns = spent_ns;

	for (unsigned int i = 0; i < seconds * 1000 / TURN_MS; i++) {
		*now_ms += TURN_MS;
		if (*now_ms % TICK_MS == 0)
			*all_ns += all_ns_per_s * TICK_MS / 1000;
		if (comm_allotment_left(a, *now_ms * MS, *all_ns, spent_ns) > 0)
			spent_ns += cost_ns;
	}
	return (double)(spent_ns - before_ns);
}

static void test_share(void **state)
{
	struct comm_allotment a = {.share = 0.3, .kept_ns = 1000 * MS};
	uint64_t now_ms = 0, all_ns = 0;
	double all;

	(void)state;
	spent_ns = 0;
	/* What costs more than it may is done as often as it may be. */
	all = play(&a, &now_ms, &all_ns, 100, 10 * MS, 2 * MS);
	assert_true(all > 0.95 * 0.3 * 1000 * MS && all < 1.05 * 0.3 * 1000 * MS);
	/* What is cheap is not held up by when the budget is told of. */
	all = play(&a, &now_ms, &all_ns, 100, 10 * MS, MS / 10);
	assert_true(all > 0.9 * 100 * 1000 / TURN_MS * MS / 10);
}

/* An hour in which nothing was spent gives no more than a few seconds' worth. */
static void test_idle_hour(void **state)
{
	struct comm_allotment a = {.share = 0.3, .kept_ns = 1000 * MS};
	uint64_t now_ms = 0, all_ns = 0;

	(void)state;
	spent_ns = 0;
	play(&a, &now_ms, &all_ns, 3600, 10 * MS, 0);
	assert_true(play(&a, &now_ms, &all_ns, 20, 10 * MS, 2 * MS) < 0.3 * 22.5 * 10 * MS);
}

/* Of time: however long one piece that is spent is. */
static void test_long_pieces(void **state)
{
	struct comm_allotment a = {.share = 0.1, .kept_ns = 1000 * MS};
	uint64_t now_ms = 0;

	(void)state;
	spent_ns = 0;
	for (unsigned int i = 0; i < 100 * 1000 / TURN_MS; i++) {
		now_ms += TURN_MS;
		if (comm_allotment_left(&a, now_ms * MS, now_ms * MS, spent_ns) > 0)
			spent_ns += (i % 7 ? 70ULL : 1000ULL) * MS;
	}
	assert_in_range(spent_ns / MS, 9 * 1000, 11 * 1000);
}

/* What goes on beyond the share is owed, and soon more than could be kept; a burst of it is not. */
static void test_owed(void **state)
{
	struct comm_allotment a = {.share = 0.15, .kept_ns = 8000ULL * MS};
	uint64_t s = 0, spent = 0;

	(void)state;
	for (; s < 100; s++) {
		double left_ns = comm_allotment_left(&a, s * 1000 * MS, s * 10 * MS, spent += MS);

		assert_true(s < 8 || left_ns > -comm_allotment_most(&a));
	}
	spent += 10 * MS;
	assert_true(comm_allotment_left(&a, s * 1000 * MS, s * 10 * MS, spent) >
		    -comm_allotment_most(&a));
	for (uint64_t end = s + 20; s < end; s++)
		comm_allotment_left(&a, s * 1000 * MS, s * 10 * MS, spent += 4 * MS);
	assert_true(comm_allotment_left(&a, s * 1000 * MS, s * 10 * MS, spent) <
		    -comm_allotment_most(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_idle_hour),
		cmocka_unit_test(test_long_pieces),
		cmocka_unit_test(test_owed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
