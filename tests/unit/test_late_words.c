// SPDX-License-Identifier: GPL-2.0-or-later
/* Of which words that change late windows are opened, and what they stand for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/late_words.c"
#include "../../daemon/companion/word_pool.c"

enum { MS = 1000 * 1000, ROUNDS = 30000 };

static struct comm_late_words late;
static uint64_t seed, now_ns;

static int setup(void **state)
{
	(void)state;
	late = (struct comm_late_words){.n_pools = 2};
	seed = 1;
	now_ns = 1000 * (uint64_t)MS;
	return 0;
}

static void offer(uint64_t addr, uint64_t lag_ms, double stands_for)
{
	comm_late_words_offer(&late, &seed,
			      &(struct comm_live_word){.addr = addr,
						       .lag_ns = lag_ms * MS,
						       .stands_for = stands_for},
			      now_ns);
}

static bool draw(struct comm_live_word *ret)
{
	return comm_late_words_draw(&late, INFINITY, now_ns, ret);
}

/* However few windows there are, each stratum has the part of them that its bytes and its windows' cost ask for, and stands for itself. */
static void test_shares_of_strata(void **state)
{
	static const uint64_t lag_ms[] = {31, 100, 301, 1001};
	static const double bytes[] = {1, 4, 2, 0.5};
	double stands_for[4] = {0}, draws[4] = {0}, all = 0, wanted[4];
	struct comm_live_word drawn;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		for (uint64_t j = 0; j < 4; j++)
			offer(j, lag_ms[j], bytes[j]);
		if (i % 3 || !draw(&drawn))
			continue;
		stands_for[drawn.addr] += drawn.stands_for;
		draws[drawn.addr]++;
	}
	for (int j = 0; j < 4; j++) {
		assert_true(stands_for[j] > 0.97 * ROUNDS * bytes[j] &&
			    stands_for[j] <= ROUNDS * bytes[j]);
		wanted[j] = bytes[j] / sqrt((double)lag_ms[j]);
		all += wanted[j];
	}
	for (int j = 0; j < 4; j++)
		assert_in_range((uint64_t)(1000 * draws[j] / (ROUNDS / 3)),
				(uint64_t)(900 * wanted[j] / all),
				(uint64_t)(1400 * wanted[j] / all));
}

/* As many words as windows can begin at once are kept of one stratum; there are no more. */
static void test_pools(void **state)
{
	struct comm_live_word first, second, drawn;

	(void)state;
	assert_false(draw(&drawn));
	for (uint64_t i = 0; i < 10; i++)
		offer(i, 300, 1);
	assert_true(draw(&first) && draw(&second));
	assert_true(first.addr % 2 != second.addr % 2);
	assert_true(first.stands_for == 5 && second.stands_for == 5);
	assert_false(draw(&drawn));
}

/* Looks are late on a busy machine, and lags may be beyond all looks. */
static void test_lags_between_and_beyond(void **state)
{
	struct comm_live_word drawn;
	double sum = 0;

	(void)state;
	offer(0, 35, 1);
	offer(0, 5, 1);
	offer(1, 1900, 1);
	offer(1, 60000, 1);
	while (draw(&drawn))
		sum += drawn.stands_for;
	assert_true(sum == 4);
}

/* What is too long for now waits, and stands for all that came meanwhile; after a minute without a draw it is overdue. */
static void test_too_long_for_now(void **state)
{
	struct comm_live_word drawn;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		offer(i, 300, 1);
		offer(100 + i, 100, 1);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(comm_late_words_draw(&late, 299 * MS, now_ns, &drawn));
		assert_true(drawn.addr >= 100);
	}
	assert_false(comm_late_words_draw(&late, 299 * MS, now_ns, &drawn));
	now_ns += 59999 * (uint64_t)MS;
	assert_false(comm_late_words_overdue(&late, now_ns, &drawn));
	assert_true(draw(&drawn));
	assert_true(drawn.addr < 10 && drawn.stands_for == 5);
	now_ns += 59999 * (uint64_t)MS;
	assert_false(comm_late_words_overdue(&late, now_ns, &drawn));
	now_ns += MS;
	assert_true(comm_late_words_overdue(&late, now_ns, &drawn));
	assert_true(drawn.addr < 10 && drawn.stands_for == 5);
	assert_false(comm_late_words_overdue(&late, now_ns, &drawn));
	/* The next one waits as long, whether the last were overdue or drawn. */
	for (int i = 0; i < 2; i++) {
		now_ns += 120 * 1000 * (uint64_t)MS;
		offer(1, 300, 1);
		now_ns += 59999 * (uint64_t)MS;
		assert_false(comm_late_words_overdue(&late, now_ns, &drawn));
		assert_true(draw(&drawn));
	}
}

/* Which word is kept does not decide whether there is a draw: the slower of a stratum would be left out. */
static void test_lags_of_a_stratum(void **state)
{
	struct comm_live_word drawn;

	(void)state;
	for (int i = 0; i < 20; i++) {
		offer(0, 590, 1);
		assert_true(comm_late_words_draw(&late, 300 * MS, now_ns, &drawn));
		offer(0, 201, 1);
		assert_false(comm_late_words_draw(&late, 299 * MS, now_ns, &drawn));
		assert_true(draw(&drawn));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_shares_of_strata, setup),
		cmocka_unit_test_setup(test_pools, setup),
		cmocka_unit_test_setup(test_lags_between_and_beyond, setup),
		cmocka_unit_test_setup(test_too_long_for_now, setup),
		cmocka_unit_test_setup(test_lags_of_a_stratum, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
