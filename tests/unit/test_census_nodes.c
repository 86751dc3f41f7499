// SPDX-License-Identifier: GPL-2.0-or-later
/* Shares of a made-up census, against what can be counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "census_nodes.h"

enum { LAG_10MS, LAG_1S, LAG_10S };

static const double z = 1.645;
static struct comm_census_node node;
static struct comm_report_census got;

static void put(int class, uint64_t words, double each)
{
	node.class[class].words += words;
	node.class[class].bytes += (double)words * each;
	node.class[class].squares += (double)words * each * each;
}

static int setup(void **state)
{
	(void)state;
	node = (struct comm_census_node){0};
	return 0;
}

static bool is_near(double a, double b)
{
	return a > b - 1e-9 && a < b + 1e-9;
}

static void test_all_looked_at_to_the_end(void **state)
{
	(void)state;
	put(COMM_CENSUS_WAITS, 300, 1);
	put(COMM_CENSUS_CHANGED + 2, 20, 1);
	put(COMM_CENSUS_CHANGED + 6, 30, 1);
	put(COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 50, 1);
	comm_census_shares(&node, &node, z, &got);
	assert_int_equal(got.reads, 400);
	assert_int_equal(got.waiting_reads, 300);
	assert_true(is_near(got.waiting, 0.75));
	assert_true(is_near(got.share, 1));
	assert_true(is_near(got.fresh[LAG_10MS], 0.2));
	assert_true(is_near(got.fresh[LAG_1S], 0.5));
	assert_true(is_near(got.fresh[LAG_10S], 0.5));
	/* Wilson's of 100 words. */
	assert_true(got.fresh_low[LAG_1S] > 0.41 && got.fresh_low[LAG_1S] < 0.42);
	assert_true(got.fresh_high[LAG_1S] > 0.58 && got.fresh_high[LAG_1S] < 0.59);
}

/* Of 100 words half change at once; of the others 30 are looked at no more, and half of the rest change. */
static void test_words_of_the_end(void **state)
{
	(void)state;
	put(COMM_CENSUS_CHANGED, 50, 1);
	put(COMM_CENSUS_QUIET + 4, 30, 1);
	put(COMM_CENSUS_CHANGED + 5, 10, 1);
	put(COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 10, 1);
	comm_census_shares(&node, &node, z, &got);
	assert_true(is_near(got.fresh[LAG_10MS], 0.5));
	assert_true(is_near(got.fresh[LAG_10S], 0.75));
}

/* A run of three seconds says nothing of ten. */
static void test_nobody_looked_for_so_long(void **state)
{
	(void)state;
	put(COMM_CENSUS_CHANGED, 10, 1);
	put(COMM_CENSUS_QUIET + 7, 10, 1);
	comm_census_shares(&node, &node, z, &got);
	assert_true(is_near(got.fresh[LAG_1S], 0.5));
	assert_true(got.fresh_low[LAG_10S] == 0 && got.fresh_high[LAG_10S] == 1);
}

/* What changes within a second does so within ten, however few words were looked at for so long. */
static void test_bounds_in_order(void **state)
{
	struct comm_report_census row[2];
	struct comm_census_node nodes[2];
	const struct comm_census_nodes census = {.node = nodes, .n = 2};

	(void)state;
	put(COMM_CENSUS_CHANGED + 3, 50, 1);
	put(COMM_CENSUS_QUIET + 7, 10, 1);
	nodes[0] = nodes[1] = node;
	for (size_t i = 0; i < 2; i++)
		comm_census_shares(&nodes[i], &nodes[0], z, &row[i]);
	comm_census_widen(&census, row, z);
	for (size_t i = 0; i < 2; i++) {
		assert_true(row[i].fresh_low[LAG_1S] > 0.5);
		assert_true(is_near(row[i].fresh_low[LAG_10S], row[i].fresh_low[LAG_1S]));
		assert_true(row[i].fresh_high[LAG_10MS] <= row[i].fresh_high[LAG_1S]);
	}
}

/* A few words of great weight are worth no more than a few. */
static void test_weights(void **state)
{
	double even;

	(void)state;
	put(COMM_CENSUS_CHANGED, 100, 1);
	put(COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 100, 1);
	comm_census_shares(&node, &node, z, &got);
	even = got.fresh_high[LAG_1S] - got.fresh_low[LAG_1S];
	put(COMM_CENSUS_CHANGED, 1, 1000);
	comm_census_shares(&node, &node, z, &got);
	assert_true(is_near(got.fresh[LAG_1S], 1100.0 / 1200));
	assert_true(got.fresh_high[LAG_1S] - got.fresh_low[LAG_1S] > 3 * even);
}

static void test_a_node_of_several(void **state)
{
	struct comm_census_node whole;

	(void)state;
	put(COMM_CENSUS_WAITS, 10, 1);
	put(COMM_CENSUS_CHANGED, 20, 1);
	whole = node;
	whole.class[COMM_CENSUS_WAITS].bytes += 30;
	whole.class[COMM_CENSUS_WAITS].squares += 30;
	whole.class[COMM_CENSUS_CHANGED].bytes += 20;
	whole.class[COMM_CENSUS_CHANGED].squares += 20;
	comm_census_shares(&node, &whole, z, &got);
	assert_true(is_near(got.waiting, 10.0 / 80));
	assert_true(is_near(got.share, 0.5));
	assert_true(got.share_low < 0.5 && got.share_high > 0.5);
}

/* Two functions of many words: chance is little, and what the one weighs against the other is not known well. */
static void test_weights_of_code(void **state)
{
	struct comm_report_census row[3];
	struct comm_census_node nodes[3];
	const struct comm_census_nodes census = {.node = nodes, .n = 3};

	(void)state;
	memset(nodes, 0, sizeof(nodes));
	put(COMM_CENSUS_CHANGED, 400000, 1);
	nodes[1] = node;
	node = (struct comm_census_node){0};
	put(COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 600000, 1);
	nodes[2] = node;
	put(COMM_CENSUS_CHANGED, 400000, 1);
	nodes[0] = node;
	for (size_t i = 0; i < 3; i++)
		comm_census_shares(&nodes[i], &nodes[0], z, &row[i]);
	assert_true(row[1].share_low > 0.39);
	comm_census_widen(&census, row, z);
	/* Odds of 2 to 3, by exp(1.645 * 0.8 * sqrt(2)) either way. */
	assert_true(row[1].share_low > 0.09 && row[1].share_low < 0.1);
	assert_true(row[1].share_high > 0.8 && row[1].share_high < 0.82);
	/* So is how much changes at all, as the one does and the other does not. */
	assert_true(is_near(row[0].fresh[LAG_1S], 0.4));
	assert_true(row[0].fresh_low[LAG_1S] < 0.1 && row[0].fresh_high[LAG_1S] > 0.8);
	/* That of one function is known. */
	assert_true(row[1].fresh_low[LAG_1S] > 0.99 && row[2].fresh_high[LAG_1S] < 0.01);
	assert_true(row[0].share_low > 0.99);
}

/* Functions that are rewritten alike may weigh what they will. */
static void test_nodes_that_are_alike(void **state)
{
	struct comm_report_census row[3];
	struct comm_census_node nodes[3];
	const struct comm_census_nodes census = {.node = nodes, .n = 3};

	(void)state;
	put(COMM_CENSUS_CHANGED, 200000, 1);
	put(COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 200000, 1);
	nodes[1] = nodes[2] = node;
	put(COMM_CENSUS_CHANGED, 200000, 1);
	put(COMM_CENSUS_QUIET + COMM_CENSUS_LAGS, 200000, 1);
	nodes[0] = node;
	for (size_t i = 0; i < 3; i++)
		comm_census_shares(&nodes[i], &nodes[0], z, &row[i]);
	comm_census_widen(&census, row, z);
	assert_true(row[0].fresh_low[LAG_1S] > 0.49 && row[0].fresh_high[LAG_1S] < 0.51);
}

static void test_nothing(void **state)
{
	(void)state;
	comm_census_shares(&node, &node, z, &got);
	assert_true(got.waiting == 0 && got.waiting_low == 0 && got.waiting_high == 1);
	assert_true(got.fresh_low[0] == 0 && got.fresh_high[0] == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_looked_at_to_the_end, setup),
		cmocka_unit_test_setup(test_words_of_the_end, setup),
		cmocka_unit_test_setup(test_nobody_looked_for_so_long, setup),
		cmocka_unit_test_setup(test_bounds_in_order, setup),
		cmocka_unit_test_setup(test_weights, setup),
		cmocka_unit_test_setup(test_a_node_of_several, setup),
		cmocka_unit_test_setup(test_weights_of_code, setup),
		cmocka_unit_test_setup(test_nodes_that_are_alike, setup),
		cmocka_unit_test_setup(test_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
