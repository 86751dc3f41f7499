// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept of recent processes: found by number, and the one asked about least recently goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "recent.h"

enum { KEPT = 4, BESIDE = COMM_RECENT_BUCKETS }; /* so far apart two have one bucket */

struct kept {
	struct comm_recent recent;
	uint32_t value; /* 0: nothing is kept */
};

static uint32_t forgotten;

static void forget(void *ctx, struct comm_recent *kept)
{
	assert_ptr_equal(ctx, &forgotten);
	forgotten = kept->tgid;
}

static void setup(struct comm_recents *recents)
{
	forgotten = 0;
	comm_recents_init(recents, KEPT, sizeof(struct kept), forget, &forgotten);
	for (uint32_t i = 0; i < KEPT; i++) {
		struct kept *kept = comm_recents_get(recents, 1 + i * BESIDE);

		assert_non_null(kept);
		assert_int_equal(kept->value, 0);
		kept->value = 10 + i;
	}
}

static void test_found(void **state)
{
	struct comm_recents recents;

	(void)state;
	setup(&recents);
	for (uint32_t i = 0; i < KEPT; i++)
		assert_int_equal(
			((struct kept *)comm_recents_known(&recents, 1 + i * BESIDE))->value,
			10 + i);
	assert_null(comm_recents_known(&recents, 2));
	comm_recents_deinit(&recents);
}

static void test_least_recent_goes(void **state)
{
	struct comm_recents recents;

	(void)state;
	setup(&recents);
	/* Asking about the first leaves the second as the oldest; looking at that changes nothing. */
	comm_recents_get(&recents, 1);
	comm_recents_known(&recents, 1 + BESIDE);
	assert_int_equal(((struct kept *)comm_recents_get(&recents, 7))->value, 0);
	assert_int_equal(forgotten, 1 + BESIDE);
	assert_null(comm_recents_known(&recents, 1 + BESIDE));
	assert_non_null(comm_recents_known(&recents, 1));
	comm_recents_deinit(&recents);
}

static bool has_more(const struct comm_recent *kept, const void *than)
{
	return ((const struct kept *)kept)->value > *(const uint32_t *)than;
}

static void test_oldest_that_has(void **state)
{
	struct comm_recents recents;
	uint32_t than = 11;
	struct kept *found;

	(void)state;
	setup(&recents);
	found = comm_recents_oldest(&recents, has_more, &than);
	assert_int_equal(found->value, 12);
	than = 99;
	assert_null(comm_recents_oldest(&recents, has_more, &than));
	comm_recents_deinit(&recents);
	assert_int_not_equal(forgotten, 0);
}

static void add(void *ctx, struct comm_recent *kept)
{
	*(uint32_t *)ctx += ((struct kept *)kept)->value;
}

static void test_each(void **state)
{
	struct comm_recents recents;
	uint32_t sum = 0;

	(void)state;
	setup(&recents);
	comm_recents_each(&recents, add, &sum);
	assert_int_equal(sum, 10 + 11 + 12 + 13);
	comm_recents_deinit(&recents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_least_recent_goes),
		cmocka_unit_test(test_oldest_that_has),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
