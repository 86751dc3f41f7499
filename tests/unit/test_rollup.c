// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "edge_table.h"
#include "made_store.h"

static void test_row_cap(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[2000];
	struct comm_store *store;
	struct comm_query q = {.size = sizeof(q), .by = "function", .self = true};
	struct comm_report *report;
	double sum;

	(void)state;
	c.row_cap = 300;
	store = open_store(&c);
	begin(store);
	sum = fill(edges, 2000, 1);
	assert_int_equal(write_at(store, 0, edges, 2000), 0);
	/* The sum of bytes is kept, and every edge keeps a key: nothing becomes "(other)". */
	assert_true(query("SELECT sum(bytes) FROM edge") == sum);
	assert_true(query("SELECT count(*) FROM edge WHERE src_context = 0") == 0);
	assert_true(query("SELECT count(*) FROM edge") <= 300 + 64);
	assert_true(query("SELECT n FROM loss WHERE cause = 'cells_folded'") ==
		    2000 - query("SELECT count(*) FROM edge"));
	report = report_of(&q);
	assert_true(report->folded_bytes == 0);
	comm_report_free(report);
	/* Bytes that a thread reads of its own writes are not merged with others'. */
	sum = 0;
	for (size_t i = 0; i < 2000; i++)
		sum += edges[i].src_thread == edges[i].dst_thread ? edges[i].bytes : 0;
	assert_true(query("SELECT sum(bytes) FROM edge WHERE src_thread = dst_thread") == sum);
	comm_store_close(store);
}

/*
 * More samples must never show less: flows of a few functions, in more and more cells than
 * are kept, are the same flows.
 */
static void test_more_cells_show_no_less(void **state)
{
	(void)state;
	for (uint32_t objects = 10; objects <= 1000; objects *= 10) {
		double flow[3] = {0}, reader[2] = {0};
		struct comm_edge_table cells = {0};
		uint64_t folded = 0;

		for (uint32_t site = 0; site < 3; site++)
			for (uint32_t i = 0; i < 2 * objects; i++) {
				/* 1, 2 and 3 parts of six, in pieces of all sizes. */
				struct comm_edge e = {.src_thread = 1,
						      .dst_thread = 2 + i % 2,
						      .src_site = 5 + site,
						      .dst_site = 9,
						      .object = 1 + i,
						      .bytes = (1 + site) * (1 + i * 7919 % 100)};

				assert_int_equal(comm_edge_table_add(&cells, &e), 0);
			}
		for (size_t i = 0; i < cells.n; i++)
			reader[cells.edge[i].dst_thread - 2] += cells.edge[i].bytes;
		assert_int_equal(comm_edge_table_fold(&cells, 40, &folded), 0);
		assert_true(cells.n <= 40 + 2 && folded == 6 * objects - cells.n);
		for (size_t i = 0; i < cells.n; i++) {
			assert_in_range(cells.edge[i].src_site, 5, 7);
			flow[cells.edge[i].src_site - 5] += cells.edge[i].bytes;
			reader[cells.edge[i].dst_thread - 2] -= cells.edge[i].bytes;
		}
		/* Exact by threads, true on average by sites. */
		assert_true(reader[0] == 0 && reader[1] == 0);
		for (int i = 0; i < 3; i++)
			assert_true(fabs(flow[i] / (flow[0] + flow[1] + flow[2]) - (i + 1) / 6.) <
				    0.1);
		comm_edge_table_deinit(&cells);
	}
}

/*
 * Watched bytes are another estimate of the same flows: their functions are drawn by themselves.
 * Here the estimator sees nearly all of them come from one site, watches from another.
 */
static void test_watched_bytes_keep_their_sites(void **state)
{
	struct comm_edge_table cells = {0};
	double watched[2] = {0}, estimated[2] = {0};
	uint64_t folded = 0;

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		bool other = i % 2;
		struct comm_edge e = {.src_thread = 1,
				      .dst_thread = 2,
				      .src_site = 5 + other,
				      .dst_site = 9,
				      .object = 1 + i,
				      .bursts = 1,
				      .bytes = other ? 1 : 99,
				      .watched_bytes = other && i % 20 == 1 ? 90 : 0};

		assert_int_equal(comm_edge_table_add(&cells, &e), 0);
	}
	assert_int_equal(comm_edge_table_fold(&cells, 80, &folded), 0);
	assert_true(cells.n <= 80 + 2 && folded == 4000 - cells.n);
	for (size_t i = 0; i < cells.n; i++) {
		estimated[cells.edge[i].src_site - 5] += cells.edge[i].bytes;
		watched[cells.edge[i].src_site - 5] += cells.edge[i].watched_bytes;
	}
	assert_true(estimated[0] + estimated[1] == 200000 && watched[0] + watched[1] == 18000);
	assert_true(estimated[1] < 0.1 * 200000);
	assert_true(watched[0] == 0);
	comm_edge_table_deinit(&cells);
}

static void test_more_pairs_than_rows(void **state)
{
	struct comm_edge_table cells = {0};
	uint64_t folded = 0;
	double sum = 0, self = 0, left = 0, left_self = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		for (uint32_t j = 0; j < 200; j++) {
			struct comm_edge e = {.src_thread = 1 + i,
					      .dst_thread = 1 + j,
					      .src_site = 5,
					      .bytes = 1 + (i * 7919 + j * 104729) % 1000};

			sum += e.bytes;
			self += i == j ? e.bytes : 0;
			assert_int_equal(comm_edge_table_add(&cells, &e), 0);
		}
	}
	assert_int_equal(cells.n, 40000);
	assert_int_equal(comm_edge_table_fold(&cells, 100, &folded), 0);
	assert_true(cells.n <= 2 * 100 + 2 * 200);
	for (size_t i = 0; i < cells.n; i++) {
		left += cells.edge[i].bytes;
		if (cells.edge[i].src_thread == cells.edge[i].dst_thread)
			left_self += cells.edge[i].bytes;
	}
	assert_true(left == sum);
	assert_true(left_self == self);
	assert_true(folded >= 39900);
	comm_edge_table_deinit(&cells);
}

/* An hour and more of slices, most of it rolled up. */
static void test_roll_up_keeps_sums(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[400];
	struct comm_store *store;
	double sum = 0, part = 0, expected;
	struct comm_report *report;
	struct comm_query q = {.size = sizeof(q), .self = true};

	(void)state;
	c.row_cap = 100;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 4000; i++) {
		double s = fill(edges, 400, i);

		sum += s;
		part += i >= 60 && i < 180 ? s : 0;
		for (int j = 0; j < 400; j++)
			edges[j].watched_bytes = edges[j].watched_variance = j % 4 ? 0 : 3;
		assert_int_equal(write_at(store, i, edges, 400), 0);
	}
	/* Before the run's end: hours, minutes and seconds that are not summed up yet. */
	assert_true(read_bytes() == sum);
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") < 260);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 1"), 66);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 2"), 1);
	assert_int_equal(comm_store_end_run(store, START + 4000 * SECOND, "duration"), 0);
	comm_store_close(store);
	assert_true(read_bytes() == sum);
	/* Each level by itself has it all. */
	assert_true(query("SELECT sum(e.bytes) FROM edge e JOIN slice s ON s.id = e.slice"
			  " WHERE s.level = 1") == sum);
	assert_true(query("SELECT sum(e.bytes) FROM edge e JOIN slice s ON s.id = e.slice"
			  " WHERE s.level = 2") == sum);
	/* So has it all that watchpoints saw. */
	for (int level = 1; level <= 2; level++) {
		char sql[160];

		snprintf(sql, sizeof(sql),
			 "SELECT sum(e.watched_bytes + e.watched_variance) FROM edge e"
			 " JOIN slice s ON s.id = e.slice WHERE s.level = %d",
			 level);
		assert_true(query(sql) == 4000 * 100 * (3 + 3));
		snprintf(
			sql, sizeof(sql),
			"SELECT sum(watches * 1000 + unanswered_bytes) FROM slice WHERE level = %d",
			level);
		assert_true(query(sql) == 4000 * (2 * 1000 + 7));
	}
	assert_true(query("SELECT max(n) FROM (SELECT count(*) n FROM edge GROUP BY slice)") <=
		    2 * 4 * 100);
	/* Variances, first reads, samples and losses as well. */
	report = report_of(&q);
	assert_int_equal(report->samples, 40000);
	assert_int_equal(report->run->samples, 40000);
	assert_true(report->unwritten_bytes == 28000);
	for (size_t i = 0; i < report->n_losses; i++) {
		if (!strcmp(comm_report_loss_at(report, i)->cause, "late"))
			assert_int_equal(comm_report_loss_at(report, i)->n, 8000);
	}
	comm_report_free(report);
	/* A range of whole minutes is exact though its detail is gone. */
	q.from_ns = 60 * SECOND;
	q.to_ns = 180 * SECOND;
	report = report_of(&q);
	expected = part;
	assert_true(report->read_bytes - report->unwritten_bytes == expected);
	assert_int_equal(report->from_ns, 60 * SECOND);
	assert_int_equal(report->to_ns, 180 * SECOND);
	comm_report_free(report);
	/* One that cuts a minute grows to it, and says so. */
	q.from_ns = 70 * SECOND;
	q.to_ns = 130 * SECOND;
	report = report_of(&q);
	assert_true(report->read_bytes - report->unwritten_bytes == expected);
	assert_int_equal(report->from_ns, 60 * SECOND);
	assert_int_equal(report->to_ns, 180 * SECOND);
	comm_report_free(report);
	/* The last minutes have their detail. */
	q.from_ns = 3900 * SECOND;
	q.to_ns = 3905 * SECOND;
	report = report_of(&q);
	assert_int_equal(report->from_ns, 3900 * SECOND);
	assert_int_equal(report->to_ns, 3905 * SECOND);
	comm_report_free(report);
	q.from_ns = -10 * (int64_t)SECOND;
	q.to_ns = -5 * (int64_t)SECOND;
	report = report_of(&q);
	assert_int_equal(report->to_ns - report->from_ns, 5 * SECOND);
	comm_report_free(report);
}

enum { VARIED = 300 };

/* Each second another load, if it is not steady; in four seconds sampling was disabled, and in others for a while. */
static void make_varied(uint32_t row_cap, uint32_t n_edges, bool steady)
{
	struct comm_naming naming = made_naming(names);
	struct comm_store_config c = config();
	struct comm_store *store;

	c.row_cap = row_cap;
	c.rollup_ns = 2 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < VARIED; i++) {
		bool off = i / 4 == 5;
		struct comm_slice_info info = {
			.start_ns = START + i * SECOND,
			.end_ns = START + (i + 1) * SECOND,
			.bursts = 50,
			.unwritten = {i % 11 * 1000, 0, i % 11 * 900},
			.loss = {[COMM_LOSS_DISABLED] = off	 ? 1000
							: steady ? 0
								 : i % 5 * 100}};
		struct comm_edge edges[400];

		fill(edges, 400, 1);
		for (uint32_t j = 0; j < n_edges; j++) {
			/* Most is written by the first thread, so that something is resolved. */
			edges[j].bytes *= j % 8 ? 1 : 100;
			if (!steady)
				edges[j].bytes *= (double)(1 + comm_hash_word(i * 1000 + j) % 100);
			edges[j].bursts = 2;
		}
		assert_int_equal(
			comm_store_write_slice(store, &info, edges, off ? 0 : n_edges, &naming), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + VARIED * SECOND, "duration"), 0);
	comm_store_close(store);
}

/* Strands are rounded, which shows in the ends of a share that is hardly there. */
static void assert_near(double a, double b)
{
	if (fabs(a - b) > 1e-5 * fabs(b) + 1e-7)
		fail_msg("%.9g is not %.9g", a, b);
}

static void assert_same(const struct comm_report *a, const struct comm_report *b)
{
	assert_int_equal(a->n_edges, b->n_edges);
	assert_int_equal(a->n_unresolved, b->n_unresolved);
	assert_true(a->n_edges > 0);
	if (a->polled_bytes > 0)
		assert_near(a->polled_bytes, 0.9 * a->unwritten_bytes);
	for (size_t i = 0; i < a->n_edges; i++) {
		const struct comm_report_edge *x = comm_report_edge_at(a, i);
		const struct comm_report_edge *y = comm_report_edge_at(b, i);

		assert_string_equal(comm_report_node_at(a, x->from)->id,
				    comm_report_node_at(b, y->from)->id);
		assert_near(x->bytes, y->bytes);
		assert_near(x->low, y->low);
		assert_near(x->high, y->high);
		assert_near(x->share_low, y->share_low);
		assert_near(x->noise, y->noise);
		assert_int_equal(x->resolved, y->resolved);
		assert_in_range(x->slices, 4, y->slices);
	}
	for (size_t i = 0; comm_report_part_at(a, i); i++) {
		assert_near(comm_report_part_at(a, i)->share, comm_report_part_at(b, i)->share);
		assert_near(comm_report_part_at(a, i)->share_low,
			    comm_report_part_at(b, i)->share_low);
	}
}

/* What a report on wide slices states is what one on their parts would, its blocks are the same. */
static void test_strands_stand_for_parts(void **state)
{
	const struct comm_query queries[] = {
		{.size = sizeof(struct comm_query)},
		{.size = sizeof(struct comm_query), .by = "function"},
		{.size = sizeof(struct comm_query), .by = "thread,object", .self = true},
		{.size = sizeof(struct comm_query), .thread = "12"},
		/* The rest of the second wide slice, the third, and a part of none. */
		{.size = sizeof(struct comm_query), .from_ns = 60 * SECOND, .self = true},
		/* Without strands. */
		{.size = sizeof(struct comm_query), .first_read = true},
	};
	enum { N = sizeof(queries) / sizeof(*queries) };
	struct comm_report *wide[N];

	(void)state;
	make_varied(1000, 400, false);
	/* Sixty parts but those without sampling; all of the run. */
	assert_true(query("SELECT min(parts) FROM slice WHERE level = 2") == 30);
	assert_true(query("SELECT max(parts) FROM slice WHERE level = 2") == 60);
	assert_true(query("SELECT parts FROM slice WHERE level = 3") == 148);
	assert_true(query("SELECT count(*) FROM slice WHERE level < 2 AND parts + length(strands)"
			  " > 0") == 0);
	for (int i = 0; i < N; i++)
		wide[i] = report_of(&queries[i]);
	assert_true(wide[0]->n_unresolved < wide[0]->n_edges);
	assert_true(wide[0]->polled_bytes > 0);
	sql("DELETE FROM slice WHERE level > 1");
	for (int i = 0; i < N; i++) {
		struct comm_report *narrow = report_of(&queries[i]);

		assert_same(wide[i], narrow);
		comm_report_free(narrow);
		comm_report_free(wide[i]);
	}
}

/* Cells that stand for others make sums by sites less certain, not those by threads. */
static void test_drawn_cells(void **state)
{
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_report *all, *drawn;

	(void)state;
	make_varied(1000, 400, true);
	all = report_of(&q);
	unlink(path);
	make_varied(100, 400, true);
	assert_true(query("SELECT sum(drawn_variance) FROM edge") > 0);
	drawn = report_of(&q);
	assert_same(all, drawn);
	comm_report_free(all);
	comm_report_free(drawn);
}

static void test_packed_strands(void **state)
{
	static const struct comm_strands bad[] = {
		{{0}}, {{2, -1}}, {{1, NAN}}, {{INFINITY}}, {{-INFINITY}}};
	const struct comm_strands good = {{1, 2, 0, 5, 0, 0, 0, 8}};
	uint8_t packed[COMM_STRANDS_PACKED];
	double share[COMM_STRANDS];

	(void)state;
	comm_strands_pack(&good, packed);
	assert_true(comm_strands_unpack(packed, share));
	for (int i = 0; i < COMM_STRANDS; i++)
		assert_true(share[i] == good.sum[i] / 16);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		comm_strands_pack(&bad[i], packed);
		assert_false(comm_strands_unpack(packed, share));
	}
}

/* Strands that no writer makes: such slices are taken by their parts, such rows by time alone. */
static void test_hostile_strands(void **state)
{
	static const char *const hostile[] = {
		"UPDATE slice SET strands = x'00'",
		"UPDATE slice SET strands = zeroblob(32)",
		"UPDATE slice SET parts = -1",
		"UPDATE slice SET parts = 9223372036854775807",
		"UPDATE slice SET parts = 148, strands = x'0000c07f' || zeroblob(28)",
		"UPDATE slice SET strands = (SELECT strands FROM slice WHERE level = 3)",
		"UPDATE edge SET strands = x'000080bf0000807f' || zeroblob(24)",
		"UPDATE edge SET strands = x'ff'",
	};
	struct comm_query q = {.size = sizeof(q), .self = true};
	struct comm_report *report;
	double bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		make_varied(1000, 100, false);
		report = report_of(&q);
		bytes = report->total_bytes;
		comm_report_free(report);
		sql(hostile[i]);
		report = report_of(&q);
		assert_near(report->total_bytes, bytes);
		for (size_t j = 0; j < report->n_edges; j++) {
			const struct comm_report_edge *edge = comm_report_edge_at(report, j);

			assert_true(edge->low >= 0 && edge->low <= edge->bytes);
			assert_true(edge->high >= edge->bytes);
		}
		comm_report_free(report);
		unlink(path);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_row_cap),
		TEST(test_more_cells_show_no_less),
		TEST(test_watched_bytes_keep_their_sites),
		TEST(test_more_pairs_than_rows),
		TEST(test_roll_up_keeps_sums),
		TEST(test_strands_stand_for_parts),
		TEST(test_drawn_cells),
		TEST(test_packed_strands),
		TEST(test_hostile_strands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
