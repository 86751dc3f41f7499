// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of a slice's edges, with what is known of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "edge_sums.h"

static struct comm_edge found[8];
static size_t n_found;

static void find(void *ctx, const struct comm_edge *edge)
{
	(void)ctx;
	assert_true(n_found < 8);
	found[n_found++] = *edge;
}

static const struct comm_edge_key key = {.src_thread = 1, .dst_thread = 2, .src_site = 3};
static const struct comm_edge_key other = {.src_thread = 4, .dst_thread = 2, .src_site = 3};

static void emit(struct comm_edge_sums *sums)
{
	n_found = 0;
	comm_edge_sums_emit(sums, find, NULL);
}

/* Bursts and variance are of each edge, and of its pair of threads. */
static void test_sums(void **state)
{
	struct comm_edge_sums *sums;

	(void)state;
	assert_int_equal(comm_edge_sums_create(1 << 20, &sums), 0);
	for (int burst = 0; burst < 3; burst++) {
		if (burst == 1)
			comm_edge_sums_add(sums, &key, 10, 5, 2);
		comm_edge_sums_add(sums, &other, 7, 1, 1);
		comm_edge_sums_end_burst(sums);
	}
	emit(sums);
	assert_int_equal(n_found, 2);
	assert_true(found[1].bytes == 10 && found[1].first_bytes == 5);
	assert_int_equal(found[1].bursts, 1);
	assert_int_equal(found[1].level, 2);
	assert_true(found[1].variance == 100 && found[1].first_variance == 25);
	assert_true(found[0].bytes == 21 && found[0].variance == 3 * 49);
	assert_int_equal(found[0].bursts, 3);
	assert_int_equal(found[0].level, 1);
	/* The next slice begins anew. */
	comm_edge_sums_add(sums, &key, 10, 10, 0);
	emit(sums);
	assert_int_equal(n_found, 1);
	assert_true(found[0].bytes == 10 && found[0].level == 0);
	comm_edge_sums_destroy(sums);
}

/* Doubts come as shares of the bytes, and are summed as bytes. */
static void test_doubts(void **state)
{
	const struct comm_edge_known known = {
		.doubts = {.thread = 0.5f, .role = 0.25f, .side = 0.125f, .code = 1}};
	struct comm_edge_sums *sums;

	(void)state;
	assert_int_equal(comm_edge_sums_create(1 << 20, &sums), 0);
	comm_edge_sums_add_known(sums, &key, 80, 0, 1, &known);
	comm_edge_sums_add_known(sums, &key, 8, 0, 1, &known);
	comm_edge_sums_add(sums, &key, 12, 0, 0);
	emit(sums);
	assert_int_equal(n_found, 1);
	assert_true(found[0].bytes == 100);
	assert_true(found[0].doubts.thread == 44 && found[0].doubts.role == 22);
	assert_true(found[0].doubts.side == 11 && found[0].doubts.code == 88);
	comm_edge_sums_destroy(sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_doubts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
