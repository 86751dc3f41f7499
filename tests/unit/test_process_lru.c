// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept of recent processes: found by number, and the one asked about least recently goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "process_lru.h"

enum { KEPT = 4, BESIDE = 1000, MANY = 4 * COMM_PROCESS_LRU_BUCKETS };

struct kept {
	struct comm_process_lru_entry lru;
	uint32_t value; /* 0: nothing is kept */
};

static uint32_t forgotten;

static void forget(void *ctx, struct comm_process_lru_entry *kept)
{
	assert_ptr_equal(ctx, &forgotten);
	forgotten = kept->tgid;
}

static void setup(struct comm_process_lru *lru)
{
	forgotten = 0;
	comm_process_lru_init(lru, KEPT, sizeof(struct kept), forget, &forgotten);
	for (uint32_t i = 0; i < KEPT; i++) {
		struct kept *kept = comm_process_lru_get(lru, 1 + i * BESIDE);

		assert_non_null(kept);
		assert_int_equal(kept->value, 0);
		kept->value = 10 + i;
	}
}

static void test_found(void **state)
{
	struct comm_process_lru lru;

	(void)state;
	setup(&lru);
	for (uint32_t i = 0; i < KEPT; i++)
		assert_int_equal(
			((struct kept *)comm_process_lru_known(&lru, 1 + i * BESIDE))->value,
			10 + i);
	assert_null(comm_process_lru_known(&lru, 2));
	comm_process_lru_deinit(&lru);
}

static void test_least_recent_goes(void **state)
{
	struct comm_process_lru lru;

	(void)state;
	setup(&lru);
	/* Asking about the first leaves the second as the oldest; looking at that changes nothing. */
	comm_process_lru_get(&lru, 1);
	comm_process_lru_known(&lru, 1 + BESIDE);
	assert_int_equal(((struct kept *)comm_process_lru_get(&lru, 7))->value, 0);
	assert_int_equal(forgotten, 1 + BESIDE);
	assert_null(comm_process_lru_known(&lru, 1 + BESIDE));
	assert_non_null(comm_process_lru_known(&lru, 1));
	comm_process_lru_deinit(&lru);
}

static bool has_more(const struct comm_process_lru_entry *kept, const void *than)
{
	return ((const struct kept *)kept)->value > *(const uint32_t *)than;
}

static void test_oldest_that_has(void **state)
{
	struct comm_process_lru lru;
	uint32_t than = 11;
	struct kept *found;

	(void)state;
	setup(&lru);
	found = comm_process_lru_oldest(&lru, has_more, &than);
	assert_int_equal(found->value, 12);
	than = 99;
	assert_null(comm_process_lru_oldest(&lru, has_more, &than));
	comm_process_lru_deinit(&lru);
	assert_int_not_equal(forgotten, 0);
}

static void add(void *ctx, struct comm_process_lru_entry *kept)
{
	*(uint32_t *)ctx += ((struct kept *)kept)->value;
}

static void test_each(void **state)
{
	struct comm_process_lru lru;
	uint32_t sum = 0;

	(void)state;
	setup(&lru);
	comm_process_lru_each(&lru, add, &sum);
	assert_int_equal(sum, 10 + 11 + 12 + 13);
	comm_process_lru_deinit(&lru);
}

static void test_dropped_is_forgotten(void **state)
{
	struct comm_process_lru lru;

	(void)state;
	setup(&lru);
	comm_process_lru_drop(&lru, 2);
	assert_int_equal(forgotten, 0);
	comm_process_lru_drop(&lru, 1);
	assert_int_equal(forgotten, 1);
	assert_int_equal(lru.n, KEPT - 1);
	assert_int_equal(lru.oldest->tgid, 1 + BESIDE);
	/* There is room for another, and nothing of the one before is left. */
	forgotten = 0;
	assert_int_equal(((struct kept *)comm_process_lru_get(&lru, 1))->value, 0);
	assert_int_equal(forgotten, 0);
	comm_process_lru_deinit(&lru);
}

/* Several are in each bucket. */
static void test_any_number(void **state)
{
	struct comm_process_lru lru;

	(void)state;
	comm_process_lru_init(&lru, 0, sizeof(struct kept), NULL, NULL);
	for (uint32_t i = 1; i <= MANY; i++)
		((struct kept *)comm_process_lru_get(&lru, i))->value = i;
	for (uint32_t i = 1; i <= MANY; i += 2)
		comm_process_lru_drop(&lru, i);
	assert_int_equal(lru.n, MANY / 2);
	for (uint32_t i = 1; i <= MANY; i++) {
		const struct kept *kept = comm_process_lru_known(&lru, i);

		assert_int_equal(kept ? kept->value : 0, i % 2 ? 0 : i);
	}
	comm_process_lru_deinit(&lru);
	assert_null(lru.newest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_least_recent_goes),
		cmocka_unit_test(test_oldest_that_has),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_dropped_is_forgotten),
		cmocka_unit_test(test_any_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
