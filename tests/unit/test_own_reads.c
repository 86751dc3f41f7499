// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether threads read their own writes: a factor on what surroundings alone say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "own_reads.h"

enum { OBJECT = 3, OTHER_OBJECT = 4, READS = 50 };

static struct comm_own_reads *own_new(void)
{
	struct comm_own_reads *own = NULL;

	assert_int_equal(comm_own_reads_create(&own), 0);
	assert_non_null(own);
	return own;
}

/* Around the reads four threads write alike; so many are of the reader's own data, or of others'. */
static void learn(struct comm_own_reads *own, uint32_t object, bool itself, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		comm_own_reads_learn(own, object, itself, 0.25, 1);
}

static void nothing_is_known(void **state)
{
	struct comm_own_reads *own = own_new();

	(void)state;
	assert_true(comm_own_reads_factor(own, OBJECT, true) == 1);
	assert_true(comm_own_reads_factor(own, OBJECT, false) == 1);
	comm_own_reads_destroy(own);
	comm_own_reads_destroy(NULL);
}

/* Who reads its own data alone has four times what the surroundings say, and the others nothing. */
static void own_data(void **state)
{
	struct comm_own_reads *own = own_new();

	(void)state;
	learn(own, OBJECT, true, READS);
	assert_true(fabs(comm_own_reads_factor(own, OBJECT, true) - 4) < 0.2);
	assert_true(comm_own_reads_factor(own, OBJECT, false) < 0.02);
	comm_own_reads_destroy(own);
}

static void data_of_others(void **state)
{
	struct comm_own_reads *own = own_new();

	(void)state;
	learn(own, OBJECT, false, READS);
	assert_true(comm_own_reads_factor(own, OBJECT, true) < 0.05);
	assert_true(fabs(comm_own_reads_factor(own, OBJECT, false) - 4.0 / 3) < 0.05);
	comm_own_reads_destroy(own);
}

/* An object of which nothing is known leans on all; what is known of it outweighs them. */
static void objects_lean_on_all(void **state)
{
	struct comm_own_reads *own = own_new();

	(void)state;
	learn(own, OBJECT, true, READS);
	assert_true(comm_own_reads_factor(own, OTHER_OBJECT, true) > 2);
	learn(own, OTHER_OBJECT, false, READS);
	assert_true(comm_own_reads_factor(own, OTHER_OBJECT, true) < 0.1);
	assert_true(comm_own_reads_factor(own, OBJECT, true) > 2);
	comm_own_reads_destroy(own);
}

/* What is halved counts for less than what comes after. */
static void the_past_fades(void **state)
{
	struct comm_own_reads *own = own_new();

	(void)state;
	learn(own, OBJECT, true, 4 * READS);
	for (int i = 0; i < 6; i++)
		comm_own_reads_halve(own);
	learn(own, OBJECT, false, READS);
	assert_true(comm_own_reads_factor(own, OBJECT, true) < 0.4);
	comm_own_reads_destroy(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known), cmocka_unit_test(own_data),
		cmocka_unit_test(data_of_others),   cmocka_unit_test(objects_lean_on_all),
		cmocka_unit_test(the_past_fades),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
