// SPDX-License-Identifier: GPL-2.0-or-later
/* What pairs of windows add up to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event.h"
#include "watched.h"

static struct comm_edge edges[8];
static size_t n_edges;

static void keep(void *ctx, const struct comm_edge *edge)
{
	(void)ctx;
	assert_true(n_edges < sizeof(edges) / sizeof(*edges));
	edges[n_edges++] = *edge;
}

static struct comm_watched_sums take(struct comm_watched *watched)
{
	struct comm_watched_sums sums;

	n_edges = 0;
	comm_watched_take(watched, keep, NULL, &sums);
	return sums;
}

static struct comm_watched_pair pair_of(uint32_t writer, uint32_t reader, double bytes)
{
	return (struct comm_watched_pair){
		.bytes = bytes,
		.reader = reader,
		.writer = writer,
		.read = {.object = 5, .site = 10 + reader, .flags = COMM_ACCESS_READ},
		.write = {.object = 5,
			  .site = 20 + writer,
			  .flags = writer ? COMM_ACCESS_WRITE : 0},
	};
}

static void add(struct comm_watched *watched, uint32_t writer, uint32_t reader, double bytes)
{
	const struct comm_watched_pair pair = pair_of(writer, reader, bytes);

	comm_watched_add(watched, 0, &pair);
}

static void test_sums(void **state)
{
	struct comm_watched *watched;
	struct comm_watched_sums sums;

	(void)state;
	assert_int_equal(comm_watched_create(&watched), 0);
	add(watched, 1, 2, 100);
	add(watched, 1, 2, 300);
	add(watched, 2, 2, 50);
	add(watched, 0, 2, 1000);
	sums = take(watched);
	assert_int_equal(sums.watches, 4);
	assert_true(sums.unanswered_bytes == 1000);
	assert_int_equal(n_edges, 2);
	assert_true(edges[0].src_thread == 1 && edges[0].dst_thread == 2 && edges[0].object == 5);
	assert_true(edges[0].src_site == 21 && edges[0].dst_site == 12);
	assert_true(edges[0].watched_bytes == 400);
	/* Each window errs by itself. */
	assert_true(edges[0].watched_variance == 100 * 100 + 300 * 300);
	assert_true(edges[0].bytes == 0 && edges[0].variance == 0 && edges[0].bursts == 0);
	assert_true(edges[1].src_thread == 2 && edges[1].watched_bytes == 50);
	/* The next slice begins with nothing. */
	sums = take(watched);
	assert_true(sums.watches == 0 && sums.unanswered_bytes == 0 && n_edges == 0);
	comm_watched_destroy(watched);
}

static void test_left_out(void **state)
{
	struct comm_watched_pair store = pair_of(1, 2, 10);
	struct comm_watched *watched;

	(void)state;
	assert_int_equal(comm_watched_create(&watched), 0);
	/* Bad recordings. */
	add(watched, 1, 2, 0);
	add(watched, 1, 2, -5);
	add(watched, 1, 2, NAN);
	add(watched, 1, 2, INFINITY);
	store.read.flags = COMM_ACCESS_WRITE;
	comm_watched_add(watched, 0, &store);
	assert_int_equal(take(watched).watches, 0);
	assert_int_equal(n_edges, 0);
	comm_watched_destroy(watched);
}

/* A block of a heap is named where it is known. */
static void test_block(void **state)
{
	struct comm_watched_pair pair = pair_of(1, 2, 10);
	struct comm_watched *watched;

	(void)state;
	assert_int_equal(comm_watched_create(&watched), 0);
	pair.read.block = 9;
	comm_watched_add(watched, 0, &pair);
	take(watched);
	assert_int_equal(n_edges, 1);
	assert_int_equal(edges[0].object, 9);
	comm_watched_destroy(watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
