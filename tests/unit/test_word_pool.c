// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/word_pool.c"

enum { DRAWS = 20000 };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draws_are_by_size),
		cmocka_unit_test(test_nothing_is_drawn_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
