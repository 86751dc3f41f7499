// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "census.h"
#include "rewritten.h"

enum { OBJECT = 7, SITE = 8 };

#define MS 1000000ull

static struct comm_rewritten *rewritten;

/* Ten sites each. */
static uint32_t function_of(const void *sites, uint32_t site)
{
	(void)sites;
	return site / 10;
}

static int setup(void **state)
{
	(void)state;
	return comm_rewritten_create(function_of, NULL, &rewritten);
}

static int teardown(void **state)
{
	(void)state;
	comm_rewritten_destroy(rewritten);
	return 0;
}

static void add(uint32_t object, uint32_t class, double bytes)
{
	comm_rewritten_add(rewritten, &(struct comm_word){object, SITE, class, bytes});
}

static void test_share_by_age(void **state)
{
	struct comm_doubts doubts = {.thread = 0.9F};

	(void)state;
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE, 10000 * MS) == 0);
	add(OBJECT, COMM_CENSUS_CHANGED + 2, 20);
	add(OBJECT, COMM_CENSUS_CHANGED + 6, 30);
	add(OBJECT, COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 40);
	add(OBJECT, COMM_CENSUS_WAITS, 10);
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE, 1 * MS) == 0);
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE, 10 * MS) == 0.2);
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE, 999 * MS) == 0.2);
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE, 60000 * MS) == 0.5);
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE + 1, 60000 * MS) == 0.5);
	assert_true(comm_rewritten_share(rewritten, OBJECT, SITE + 10, 60000 * MS) == 0);
	/* Doubts grow, and are never made smaller. */
	comm_rewritten_doubt(rewritten, OBJECT, SITE, 60000 * MS, 1, &doubts);
	assert_true(doubts.thread == 0.9F && doubts.role == 0.5F && doubts.side == 0.5F &&
		    doubts.code == 0.5F);
}

/* Others may take an object's place: then nothing is known of it. */
static void test_forgets(void **state)
{
	double share = 0;

	(void)state;
	add(OBJECT, COMM_CENSUS_CHANGED, 1);
	for (uint32_t i = 1; i < 1 << 16; i++)
		add(OBJECT + i, COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 1);
	share = comm_rewritten_share(rewritten, OBJECT, SITE, 60000 * MS);
	assert_true(share == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_share_by_age, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgets, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
