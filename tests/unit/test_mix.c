// SPDX-License-Identifier: GPL-2.0-or-later
/* Where loads found their data, from the store's rows to the edges of a report. */
#include <math.h>

#include "made_store.h"

enum { A = 1, B, C, SLICES = 8 };

/* Samples of which each stands for so many loads. */
static struct comm_origin_sums samples(double n, double each)
{
	return (struct comm_origin_sums){.samples = (uint64_t)n, .loads = n * each};
}

static struct comm_edge row(uint32_t src, uint32_t src_site, uint32_t dst, uint32_t dst_site,
			    uint32_t object, double bytes)
{
	return (struct comm_edge){.src_thread = src,
				  .src_site = src_site,
				  .dst_thread = dst,
				  .dst_site = dst_site,
				  .object = object,
				  .bursts = 9,
				  .bytes = bytes,
				  .variance = bytes,
				  .first_bytes = bytes / 2};
}

/* Sets the loads of some slice. */
typedef size_t origins_fn(int second, struct comm_origin *origin);

static void make(const struct comm_edge *edges, size_t n, origins_fn *origins)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_naming naming;

	begin(store);
	naming = made_naming(names);
	for (int i = 0; i < SLICES; i++) {
		struct comm_origin origin[8] = {0};
		struct comm_slice_info info = {.start_ns = START + i * SECOND,
					       .end_ns = START + (i + 1) * SECOND,
					       .origin = origin,
					       .n_origins = origins ? origins(i, origin) : 0};

		assert_int_equal(comm_store_write_slice(store, &info, edges, n, &naming), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + SLICES * SECOND, "duration"), 0);
	comm_store_close(store);
}

/* The edge whose writer has that name or tid. */
static const struct comm_report_edge *edge_of(const struct comm_report *report, uint32_t tid)
{
	for (size_t i = 0; i < report->n_edges; i++)
		if (comm_report_node_at(report, comm_report_edge_at(report, i)->from)->tid == tid)
			return comm_report_edge_at(report, i);
	fail_msg("no edge from %u", tid);
	return NULL;
}

static struct comm_report_origin origin_of(const struct comm_report *report,
					   const struct comm_report_edge *edge, const char *name)
{
	for (size_t i = 0; i < edge->n_origins; i++) {
		const struct comm_report_origin *origin =
			comm_report_origin_at(report, edge->first_origin + i);

		if (!strcmp(origin->name, name))
			return *origin;
	}
	fail_msg("no origin %s", name);
	return (struct comm_report_origin){0};
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-4;
}

static bool is(const struct comm_report *report, const struct comm_report_edge *edge,
	       const char *name, double share, double low, double high)
{
	struct comm_report_origin o = origin_of(report, edge, name);

	if (near(o.share, share) && near(o.share_low, low) && near(o.share_high, high))
		return true;
	print_error("%s: %.4f %.4f..%.4f\n", name, o.share, o.share_low, o.share_high);
	return false;
}

static size_t even(int second, struct comm_origin *origin)
{
	(void)second;
	origin[0] = (struct comm_origin){.thread = B, .site = 3, .object = 1};
	origin[0].from[COMM_FROM_OWN] = samples(10, 1000);
	origin[0].from[COMM_FROM_MODIFIED] = samples(6, 1000);
	origin[0].from[COMM_FROM_REMOTE_MODIFIED] = samples(4, 1000);
	origin[0].from[COMM_FROM_REMOTE_MEMORY] = samples(1, 1000);
	origin[0].from[COMM_FROM_PEER] = samples(4, 1000);
	origin[0].from[COMM_FROM_UNKNOWN] = samples(50, 1000);
	origin[0].from[COMM_FROM_MODIFIED].timed_loads = 6000;
	origin[0].from[COMM_FROM_MODIFIED].timed_cycles = 6000 * 200;
	origin[0].from[COMM_FROM_UNKNOWN].timed_loads = 2000;
	origin[0].from[COMM_FROM_UNKNOWN].timed_cycles = 2000 * 40;
	return 1;
}

/* 200 loads of a known origin, by Wilson's formula; blocks do not differ. */
static void test_shares(void **state)
{
	const struct comm_edge edges[] = {row(A, 2, B, 3, 1, 800)};
	struct comm_query q = COMM_QUERY_INIT;
	const struct comm_report_edge *edge;
	struct comm_report *report;
	double sum = 0;

	(void)state;
	make(edges, 1, even);
	report = report_of(&q);
	edge = edge_of(report, 10);
	assert_true(near(edge->origin_loads, 200));
	assert_true(near(edge->latency_cycles, 160));
	assert_true(is(report, edge, "hitm", 0.4, 0.3447, 0.4579));
	assert_true(is(report, edge, "remote", 0.04, 0.0227, 0.0696));
	assert_true(is(report, edge, "local", 0.56, 0.5018, 0.6166));
	assert_true(is(report, edge, "remote_cache", 0, 0, 0.0133));
	assert_true(near(origin_of(report, edge, "modified").share, 0.24));
	assert_true(near(origin_of(report, edge, "remote_modified").share, 0.16));
	assert_true(near(origin_of(report, edge, "remote_memory").share, 0.04));
	assert_true(near(origin_of(report, edge, "peer").share, 0.16));
	assert_true(near(origin_of(report, edge, "own").share, 0.4));
	for (size_t i = 0; i < 3; i++)
		sum += comm_report_origin_at(report, edge->first_origin + i)->share;
	assert_true(near(sum, 1) && edge->n_origins == 11 && report->n_origins == 11);
	assert_null(comm_report_origin_at(report, report->n_origins));
	comm_report_free(report);
}

static size_t uneven(int second, struct comm_origin *origin)
{
	even(second, origin);
	origin[0].from[COMM_FROM_MODIFIED] = samples(second % 2 ? 0 : 12, 1000);
	origin[0].from[COMM_FROM_OWN] = samples(second % 2 ? 16 : 4, 1000);
	return 1;
}

/* Parts of the run that differ by more than chance make the interval wider. */
static void test_blocks(void **state)
{
	const struct comm_edge edges[] = {row(A, 2, B, 3, 1, 800)};
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_report_origin hitm;
	struct comm_report *report;

	(void)state;
	make(edges, 1, uneven);
	report = report_of(&q);
	hitm = origin_of(report, edge_of(report, 10), "hitm");
	assert_true(near(hitm.share, 0.4) && hitm.share_low < 0.27 && hitm.share_high > 0.54);
	comm_report_free(report);
}

/* B reads what A and C wrote at one place, and what A alone wrote at another. */
static size_t two_ends(int second, struct comm_origin *origin)
{
	(void)second;
	origin[0] = (struct comm_origin){.thread = B, .site = 3, .object = 1};
	origin[0].from[COMM_FROM_MODIFIED] = samples(8, 100);
	origin[1] = (struct comm_origin){.thread = B, .site = 4, .object = 1};
	origin[1].from[COMM_FROM_OWN] = samples(8, 100);
	/* Nobody was seen to write what is read here. */
	origin[2] = (struct comm_origin){.thread = B, .site = 5, .object = 1};
	origin[2].from[COMM_FROM_MEMORY] = samples(100, 100);
	/* Of another thread at the same place. */
	origin[3] = (struct comm_origin){.thread = C, .site = 3, .object = 1};
	origin[3].from[COMM_FROM_MEMORY] = samples(100, 100);
	return 4;
}

static const struct comm_edge dealt[] = {
	/* 600 of the 1000 that are read at the place of both: by two rows, but its loads count once. */
	{.src_thread = A, .src_site = 2, .dst_thread = B, .dst_site = 3, .object = 1, .bytes = 400},
	{.src_thread = A, .src_site = 9, .dst_thread = B, .dst_site = 3, .object = 1, .bytes = 200},
	{.src_thread = C, .src_site = 2, .dst_thread = B, .dst_site = 3, .object = 1, .bytes = 100},
	{.src_thread = B, .src_site = 2, .dst_thread = B, .dst_site = 3, .object = 1, .bytes = 200},
	{.src_thread = B, .src_site = 9, .dst_thread = B, .dst_site = 3, .object = 1, .bytes = 100},
	{.src_thread = A, .src_site = 2, .dst_thread = B, .dst_site = 4, .object = 1, .bytes = 200},
	/* Here nobody knows. */
	{.src_thread = A, .src_site = 2, .dst_thread = 5, .dst_site = 4, .object = 1, .bytes = 200},
};

static void test_dealt_to_writers(void **state)
{
	struct comm_query q = COMM_QUERY_INIT;
	const struct comm_report_edge *edge;
	struct comm_report *report;
	size_t known = 0;

	(void)state;
	make(dealt, 7, two_ends);
	report = report_of(&q);
	assert_int_equal(report->n_edges, 3);
	edge = edge_of(report, 12);
	assert_true(near(origin_of(report, edge, "hitm").share, 1));
	assert_true(near(edge->origin_loads, SLICES * 8));
	for (size_t i = 0; i < report->n_edges; i++) {
		edge = comm_report_edge_at(report, i);
		known += !!edge->n_origins;
		if (!edge->n_origins || comm_report_node_at(report, edge->from)->tid != 10)
			continue;
		/* 4.8 of 8 loads at the one place, all 8 at the other. */
		assert_true(near(origin_of(report, edge, "hitm").share, 4.8 / 12.8));
		assert_true(near(edge->origin_loads, SLICES * 12.8 * 12.8 / (4.8 * 4.8 / 8 + 8)));
	}
	assert_int_equal(known, 2);
	comm_report_free(report);
	/* One thread asked for, the others still read. */
	q.thread = "12";
	report = report_of(&q);
	assert_true(near(edge_of(report, 12)->origin_loads, SLICES * 8));
	comm_report_free(report);
}

/* By function the two places are apart; by object the object reads nothing. */
static void test_groupings(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "line"};
	struct comm_report *report;
	size_t hitm = 0, own = 0;

	(void)state;
	make(dealt, 7, two_ends);
	report = report_of(&q);
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);
		uint32_t line = comm_report_node_at(report, edge->to)->line;

		assert_true(!edge->n_origins || line == 1 || line == 2);
		if (!edge->n_origins)
			continue;
		hitm += line == 1 && near(origin_of(report, edge, "hitm").share, 1);
		own += line == 2 && near(origin_of(report, edge, "own").share, 1);
	}
	/* From the lines of two writing sites, of which A and C share one. */
	assert_int_equal(hitm, 2);
	assert_int_equal(own, 1);
	comm_report_free(report);
	q.by = "object";
	report = report_of(&q);
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		assert_true(!!edge->n_origins ==
			    (comm_report_node_at(report, edge->to)->tid == 11));
	}
	comm_report_free(report);
}

static size_t unknown(int second, struct comm_origin *origin)
{
	(void)second;
	origin[0] = (struct comm_origin){.thread = B, .site = 3, .object = 1};
	origin[0].from[COMM_FROM_UNKNOWN] = samples(10, 1000);
	return 1;
}

static void test_unknown(void **state)
{
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_report *report;

	(void)state;
	make(dealt, 7, unknown);
	make(dealt, 7, NULL);
	for (q.run = 1; q.run <= 2; q.run++) {
		report = report_of(&q);
		assert_int_equal(report->n_origins, 0);
		for (size_t i = 0; i < report->n_edges; i++)
			assert_int_equal(comm_report_edge_at(report, i)->n_origins, 0);
		comm_report_free(report);
	}
}

static void test_hostile(void **state)
{
	static const char insert[] =
		"INSERT INTO origin SELECT 1, id, 2, 3, 1, 'l3', 'many', 'x', x'00', -1 FROM slice;"
		"INSERT INTO origin SELECT 1, id, 2, 3, 1, 'remote_cache', -7, 9e999, 9e999, 9e999 "
		"FROM "
		"slice;"
		"INSERT INTO origin SELECT 1, id, 2, 3, 1, 'memory', 1 << 62, 9e999, -1, 9e999 "
		"FROM slice;"
		"INSERT INTO origin SELECT 1, id, 2, 3, 1, 'moon', 1, 1, 0, 0 FROM slice;"
		"INSERT INTO origin SELECT 1, id, -1, 1 << 40, 'x', 'own', 1, 1, 0, 0 FROM slice";
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_report *report;

	(void)state;
	make(dealt, 7, even);
	sql(insert);
	report = report_of(&q);
	assert_true(report->n_origins > 0);
	for (size_t i = 0; i < report->n_origins; i++) {
		const struct comm_report_origin *o = comm_report_origin_at(report, i);

		assert_true(o->share_low >= 0 && o->share_low <= o->share &&
			    o->share <= o->share_high && o->share_high <= 1);
	}
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(report, i);

		assert_true(isfinite(edge->origin_loads) && isfinite(edge->latency_cycles));
	}
	comm_report_free(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_shares),    TEST(test_blocks),  TEST(test_dealt_to_writers),
		TEST(test_groupings), TEST(test_unknown), TEST(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
