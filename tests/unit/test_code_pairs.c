// SPDX-License-Identifier: GPL-2.0-or-later
/* Code pairs: whether code that writes around a datum was seen to write what that code reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "code_pairs.h"

enum {
	SRC = 10, /* of one function with the site after it */
	DST = 20,
	OBJECT = 5,
	SITES_OF_A_FUNCTION = 2,
	MORE_THAN_KEPT = 1 << 17,
};

static const struct comm_code_pair pair = {SRC, DST, OBJECT};
static struct comm_code_pairs *pairs;

static uint32_t function_of(const void *ctx, uint32_t site)
{
	return *(const uint32_t *)ctx + site / SITES_OF_A_FUNCTION;
}

static int setup(void **state)
{
	static const uint32_t first_function = 7;

	(void)state;
	return comm_code_pairs_create(function_of, &first_function, &pairs);
}

static int teardown(void **state)
{
	(void)state;
	comm_code_pairs_destroy(pairs);
	return 0;
}

/* A pair that was never met is likely until it would have been. */
static void never_met(void **state)
{
	(void)state;
	comm_code_pairs_destroy(NULL);
	assert_false(comm_code_pairs_known(pairs, &pair));
	assert_true(comm_code_pairs_likely(pairs, &pair, 0));
	assert_true(comm_code_pairs_likely(pairs, &pair, 0.1));
	assert_true(comm_code_pairs_likely(pairs, &pair, 0));
	/* What is expected is added up. */
	for (int i = 0; i < 10; i++)
		comm_code_pairs_likely(pairs, &pair, 0.1);
	assert_false(comm_code_pairs_likely(pairs, &pair, 0));
	assert_false(comm_code_pairs_known(pairs, &pair));
}

/* A pair that is met as often as it is expected stays likely. */
static void met_as_expected(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		comm_code_pairs_met(pairs, &pair, 1);
		assert_true(comm_code_pairs_likely(pairs, &pair, 1));
	}
	/* Ten times as many are expected as were met. */
	assert_false(comm_code_pairs_likely(pairs, &pair, 900));
	assert_true(comm_code_pairs_known(pairs, &pair));
	comm_code_pairs_met(pairs, &pair, 1000);
	assert_true(comm_code_pairs_likely(pairs, &pair, 0));
}

/* A read of a datum that two sites wrote meets each of them in half a read, which is enough. */
static void met_once(void **state)
{
	const struct comm_code_pair seldom = {SRC, DST + 1, OBJECT};

	(void)state;
	comm_code_pairs_met(pairs, &pair, 0.5);
	assert_true(comm_code_pairs_known(pairs, &pair));
	comm_code_pairs_met(pairs, &seldom, 0.1);
	assert_false(comm_code_pairs_known(pairs, &seldom));
	comm_code_pairs_met(pairs, &seldom, 0.5);
	assert_true(comm_code_pairs_known(pairs, &seldom));
}

/* Lines of the function that writes are one, those that read and objects are not. */
static void what_a_pair_is(void **state)
{
	const struct comm_code_pair same = {SRC + 1, DST, OBJECT};
	const struct comm_code_pair others[] = {{SRC + SITES_OF_A_FUNCTION, DST, OBJECT},
						{SRC, DST + 1, OBJECT},
						{SRC, DST, OBJECT + 1},
						{DST, SRC, OBJECT}};

	(void)state;
	comm_code_pairs_met(pairs, &pair, 1);
	assert_true(comm_code_pairs_known(pairs, &same));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(comm_code_pairs_known(pairs, &others[i]));
}

/* Where functions are not known each site is one. */
static void without_functions(void **state)
{
	const struct comm_code_pair other = {SRC + 1, DST, OBJECT};
	struct comm_code_pairs *of_sites;

	(void)state;
	assert_int_equal(comm_code_pairs_create(NULL, NULL, &of_sites), 0);
	comm_code_pairs_met(of_sites, &pair, 1);
	assert_true(comm_code_pairs_known(of_sites, &pair));
	assert_false(comm_code_pairs_known(of_sites, &other));
	comm_code_pairs_destroy(of_sites);
}

/* Of more pairs than are kept the latest is known, and none that was not met. */
static void more_than_are_kept(void **state)
{
	struct comm_code_pair p = {SRC, 0, OBJECT};

	(void)state;
	for (; p.dst_site < MORE_THAN_KEPT; p.dst_site++) {
		comm_code_pairs_met(pairs, &p, 1);
		assert_true(comm_code_pairs_known(pairs, &p));
	}
	for (; p.dst_site < 2 * MORE_THAN_KEPT; p.dst_site++)
		assert_false(comm_code_pairs_known(pairs, &p));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(never_met),      TEST(met_as_expected),   TEST(met_once),
		TEST(what_a_pair_is), TEST(without_functions), TEST(more_than_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
