// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "../../daemon/companion/word_pool.c"

enum { DRAWS = 20000, MS = 1000 * 1000 };

/* What draws stand for adds up to what was offered, of each word. */
static void test_draws_are_by_size(void **state)
{
	static const double bytes[] = {1, 2, 5};
	double stands_for[3] = {0}, all = 0;
	struct comm_word_pool pool = {0};
	struct comm_live_word drawn = {0};
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		for (uint64_t j = 0; j < 3; j++)
			comm_word_pool_offer(
				&pool, &random,
				&(struct comm_live_word){.addr = j, .stands_for = bytes[j]});
		assert_true(comm_word_pool_draw(&pool, &drawn));
		stands_for[drawn.addr] += drawn.stands_for;
		all += drawn.stands_for;
		assert_false(comm_word_pool_draw(&pool, &drawn));
	}
	assert_true(all == 8.0 * DRAWS);
	for (int j = 0; j < 3; j++)
		assert_true(stands_for[j] > 0.95 * bytes[j] * DRAWS &&
			    stands_for[j] < 1.05 * bytes[j] * DRAWS);
}

static void test_nothing_is_drawn_of_nothing(void **state)
{
	struct comm_word_pool pool = {0};
	struct comm_live_word drawn = {0};
	uint64_t random = 1;

	(void)state;
	comm_word_pool_offer(&pool, &random, &(struct comm_live_word){.addr = 1});
	assert_false(comm_word_pool_draw(&pool, &drawn));
}

/* However few words are drawn, and however rarely, what they stand for adds up, of each word. */
static void test_pools(void **state)
{
	static const double bytes[] = {1, 2, 5};
	static const unsigned int times[] = {0, 1, 5, 100, 3};
	double stands_for[3] = {0}, all = 0, offered = 0;
	struct comm_word_pools pools = {0};
	struct comm_live_word drawn = {0};
	uint64_t random = 1, now_ns = 0;
	unsigned int most = 0, n;

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		/* One of each kind may come with each of another, in whatever order. */
		for (uint64_t j = 0; j < 60; j++) {
			comm_word_pools_offer(
				&pools, &random,
				&(struct comm_live_word){.addr = j * j % 3,
							 .stands_for = bytes[j * j % 3]},
				now_ns += 20 * MS);
			offered += bytes[j * j % 3];
		}
		for (n = 0; n < times[i / 10 % 5] && comm_word_pools_draw(&pools, &drawn); n++) {
			stands_for[drawn.addr] += drawn.stands_for;
			all += drawn.stands_for;
		}
		most = n > most ? n : most;
	}
	while (comm_word_pools_draw(&pools, &drawn)) {
		stands_for[drawn.addr] += drawn.stands_for;
		all += drawn.stands_for;
	}
	assert_false(comm_word_pools_any(&pools));
	assert_true(fabs(all - offered) < 1e-6 * offered);
	assert_int_equal(most, COMM_WORD_POOLS);
	/* Squares leave 0 in a third, 1 in the others. */
	assert_true(fabs(stands_for[0] / all - 0.2) < 0.01);
	assert_true(fabs(stands_for[1] / all - 0.8) < 0.01);
}

/* After a time without draws no single word stands for all of it; where one is drawn each time all stand for the same. */
static void test_draws_stand_for_the_same(void **state)
{
	struct comm_word_pools pools = {0};
	struct comm_live_word drawn = {0};
	uint64_t random = 1, now_ns = 0;

	(void)state;
	for (int i = 0; i < 40; i++, now_ns += 500 * MS) {
		for (int j = 0; j < 100; j++)
			comm_word_pools_offer(&pools, &random,
					      &(struct comm_live_word){.stands_for = 1}, now_ns);
		if (i == 9)
			for (int j = 0; j < COMM_WORD_POOLS_LEAST; j++) {
				assert_true(comm_word_pools_draw(&pools, &drawn));
				assert_true(drawn.stands_for == 1000.0 / COMM_WORD_POOLS_LEAST);
			}
		if (i > 9)
			assert_true(comm_word_pools_draw(&pools, &drawn));
		if (i > 25)
			assert_true(drawn.stands_for > 80 && drawn.stands_for < 120);
	}
}

/* Where all that is offered is drawn there are soon many pools, and few again when few are drawn. */
static void test_pools_follow_draws(void **state)
{
	struct comm_word_pools pools = {0};
	struct comm_live_word drawn = {0};
	uint64_t random = 1, now_ns = 0;
	double all = 0;

	(void)state;
	for (int i = 0; i < 40; i++, now_ns += 500 * MS) {
		for (int j = 0; j < 100; j++)
			comm_word_pools_offer(&pools, &random,
					      &(struct comm_live_word){.stands_for = 1}, now_ns);
		for (int j = 0; (i < 20 || j < 1) && comm_word_pools_draw(&pools, &drawn); j++)
			all += drawn.stands_for;
		if (i == 19)
			assert_int_equal(pools.n, COMM_WORD_POOLS);
	}
	assert_int_equal(pools.n, COMM_WORD_POOLS_LEAST);
	while (comm_word_pools_draw(&pools, &drawn))
		all += drawn.stands_for;
	assert_true(all == 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draws_are_by_size),
		cmocka_unit_test(test_nothing_is_drawn_of_nothing),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_draws_stand_for_the_same),
		cmocka_unit_test(test_pools_follow_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
