// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
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
			if (!steady && j % 3 == 0)
				edges[j].guess_bytes = edges[j].bytes / (2 + i % 3);
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
		{.size = sizeof(struct comm_query), .guess = true},
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

static int write_placements(struct comm_store *store, int second, const struct comm_placement *p,
			    size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .placement = p,
				       .n_placements = n};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

static void test_placements_are_summed(void **state)
{
	/* One placement twice, one of a thread without a name. */
	const struct comm_placement some[] = {{1, 0, 5}, {2, 3, 7}, {1, 0, 1}, {4000000000U, 2, 9}};
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++)
		assert_int_equal(write_placements(store, i, some, 4), 0);
	assert_true(query("SELECT placement.samples FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000 AND level = 0 AND thread = 1 AND cpu = 0") ==
		    6);
	assert_true(query("SELECT placement.samples FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000 AND level = 0 AND thread = 0 AND cpu = 2") ==
		    9);
	/*
	 * Wide slices have the sums, and the placements they repeat are deleted with
	 * their slice.
	 */
	assert_true(query("SELECT placement.samples FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1060000000000 AND level = 1 AND thread = 2 AND cpu = 3") ==
		    60 * 7);
	assert_true(query("SELECT count(*) FROM placement WHERE slice NOT IN"
			  " (SELECT id FROM slice)") == 0);
	assert_true(query("SELECT count(*) FROM placement JOIN slice ON id = slice WHERE"
			  " start_ns = 1060000000000") == 3);
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	/* The samples of the whole run, however much of its detail is left. */
	assert_true(query("SELECT sum(p.samples) FROM placement p JOIN slice s ON s.id = p.slice"
			  " WHERE level = 2") == 400 * 22);
	comm_store_close(store);
}

/* The row cap: the rarest lose their thread, not their CPU. */
static void test_placements_are_capped(void **state)
{
	struct comm_placement many[38 * 16];
	struct comm_store_config c = config();
	struct comm_store *store;
	double sum = 0, on_cpu_3 = 0;

	(void)state;
	c.row_cap = 100;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 38 * 16; i++) {
		many[i] = (struct comm_placement){1 + i / 16, i % 16, 1 + i * 7919 % 1000};
		sum += many[i].samples;
		on_cpu_3 += i % 16 == 3 ? many[i].samples : 0;
	}
	for (int i = 0; i < 60; i++)
		assert_int_equal(write_placements(store, i, many, 38 * 16), 0);
	assert_true(query("SELECT count(*) FROM placement WHERE slice = 1 AND thread <> 0") == 100);
	assert_true(query("SELECT count(*) FROM placement WHERE slice = 1") <= 100 + 16);
	assert_true(query("SELECT sum(samples) FROM placement WHERE slice = 1") == sum);
	assert_true(query("SELECT sum(samples) FROM placement WHERE slice = 1 AND cpu = 3") ==
		    on_cpu_3);
	assert_true(query("SELECT min(samples) FROM placement WHERE slice = 1 AND thread <> 0") >=
		    800);
	assert_true(query("SELECT n FROM loss WHERE slice = 1 AND cause = 'cells_folded'") ==
		    38 * 16 - 100);
	/* A minute has the sum of the placements that its slices kept. */
	assert_true(
		query("SELECT sum(placement.samples) FROM placement JOIN slice ON id = slice WHERE"
		      " level = 1") == 60 * sum);
	comm_store_close(store);
}

static const char *const counters[] = {COMM_COUNTER_CPU, "page-faults", COMM_COUNTER_SAMPLED};

static int write_counts(struct comm_store *store, int second, const struct comm_count *c, size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .count = c,
				       .n_counts = n,
				       .counter = counters,
				       .n_counters = 3};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

#define COUNTS " FROM count JOIN counter k ON k.id = counter JOIN slice s ON s.id = slice WHERE "

static void test_counts_are_summed(void **state)
{
	const uint32_t region = made_region(names, 0, "parse");
	const struct comm_count some[] = {
		{.thread = 1, .counter = 0, .value = 5e8},
		{.thread = 1, .counter = 1, .value = 3, .enabled_ns = 100, .running_ns = 25},
		{.thread = 1, .region = region, .counter = 2, .value = 4e8},
		{.thread = 4000000000U, .counter = 1, .value = 9},
		/* Of no counter, and of no number: dropped. */
		{.thread = 1, .counter = 3, .value = 1e9},
		{.thread = 2, .counter = 1, .value = NAN},
	};
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++)
		assert_int_equal(write_counts(store, i, some, 6), 0);
	assert_true(query("SELECT value" COUNTS "s.start_ns = 1399000000000 AND level = 0"
			  " AND thread = 1 AND k.name = 'cpu-time-ns'") == 5e8);
	assert_true(query("SELECT value" COUNTS "s.start_ns = 1399000000000 AND level = 0"
			  " AND thread = 0 AND k.name = 'page-faults'") == 9);
	assert_true(query("SELECT count(*)" COUNTS "s.start_ns = 1399000000000 AND level = 0") ==
		    4);
	/* Wide slices have the sums, and the counts they repeat are deleted with their slice. */
	assert_true(query("SELECT running_ns" COUNTS "s.start_ns = 1060000000000 AND level = 1"
			  " AND thread = 1 AND k.name = 'page-faults'") == 60 * 25);
	assert_true(query("SELECT value" COUNTS "s.start_ns = 1060000000000 AND region ="
			  " (SELECT id FROM region WHERE name = 'parse')") == 60 * 4e8);
	assert_true(query("SELECT count(*) FROM count WHERE slice NOT IN (SELECT id FROM slice)") ==
		    0);
	assert_true(query("SELECT count(*)" COUNTS "s.start_ns = 1060000000000") == 4);
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	assert_true(query("SELECT sum(value)" COUNTS "level = 2 AND k.name = 'page-faults'") ==
		    400 * 12);
	comm_store_close(store);
}

/* The row cap: the smallest shares of each counter lose their thread, and no sum changes. */
static void test_counts_are_capped(void **state)
{
	struct comm_store_config c = config();
	struct comm_count many[38 * 2] = {0};
	struct comm_store *store;

	(void)state;
	c.row_cap = 40;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 38; i++) {
		/* In one counter thread 38 has most, in the other thread 1. */
		many[2 * i] = (struct comm_count){.thread = 1 + i, .value = 1e6 * (i + 1)};
		many[2 * i + 1] =
			(struct comm_count){.thread = 1 + i, .counter = 1, .value = 38 - i};
	}
	assert_int_equal(write_counts(store, 0, many, 76), 0);
	assert_true(query("SELECT count(*) FROM count WHERE thread <> 0") == 40);
	assert_true(query("SELECT count(*) FROM count") == 42);
	assert_true(query("SELECT min(thread)" COUNTS "thread > 0 AND k.name = 'cpu-time-ns'") ==
		    19);
	assert_true(query("SELECT max(thread)" COUNTS "k.name = 'page-faults'") == 20);
	assert_true(query("SELECT sum(value)" COUNTS "k.name = 'page-faults'") == 38 * 39 / 2);
	assert_true(query("SELECT n FROM loss WHERE cause = 'cells_folded'") == 76 - 40);
	comm_store_close(store);
}

static int write_origins(struct comm_store *store, int second, const struct comm_origin *o,
			 size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .origin = o,
				       .n_origins = n};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

static void test_origins_are_summed(void **state)
{
	/* One end twice, one of a thread and an object without names. */
	const struct comm_origin some[] = {
		{1,
		 2,
		 1,
		 {[COMM_FROM_OWN] = {5, 500, 500, 2000}, [COMM_FROM_MODIFIED] = {1, 100, 0, 0}},
		 0},
		{2, 3, 1, {[COMM_FROM_MEMORY] = {7, 700, 0, 0}}, 0},
		{1, 2, 1, {[COMM_FROM_OWN] = {1, 50, 50, 300}}, 0},
		{4000000000U, 2, 3999999999U, {[COMM_FROM_UNKNOWN] = {9, 900, 0, 0}}, 0},
	};
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.detail_ns = 120 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++)
		assert_int_equal(write_origins(store, i, some, 4), 0);
#define ORIGIN(what, start, level)                                                               \
	"SELECT " what " FROM origin JOIN slice ON id = slice"                                   \
	" WHERE start_ns = " start " AND level = " level " AND thread = 1 AND object = 1 AND"    \
	" source = 'own' AND context = (SELECT c.id FROM context c JOIN site s ON s.id = c.site" \
	" WHERE s.line = 0 AND s.source <> '')"
	assert_true(query(ORIGIN("origin.samples", "1399000000000", "0")) == 6);
	assert_true(query(ORIGIN("loads", "1399000000000", "0")) == 550);
	assert_true(query(ORIGIN("timed_loads", "1399000000000", "0")) == 550);
	assert_true(query(ORIGIN("timed_cycles", "1399000000000", "0")) == 2300);
	assert_true(query("SELECT origin.samples FROM origin JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000 AND level = 0 AND thread = 0 AND object = 0"
			  " AND source = 'unknown'") == 9);
	assert_true(query("SELECT count(*) FROM origin JOIN slice ON id = slice WHERE"
			  " start_ns = 1399000000000") == 4);
	/* Wide slices have the sums, and what they repeat is deleted with its slice. */
	assert_true(query(ORIGIN("timed_cycles", "1060000000000", "1")) == 60 * 2300);
	assert_true(query("SELECT count(*) FROM origin WHERE slice NOT IN"
			  " (SELECT id FROM slice)") == 0);
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	assert_true(query("SELECT sum(o.samples) FROM origin o JOIN slice s ON s.id = o.slice"
			  " WHERE level = 2") == 400 * 23);
	comm_store_close(store);
}

/* The row cap: ends with fewest loads lose their names, whole; shares of the others stay. */
static void test_origins_are_capped(void **state)
{
	struct comm_origin many[38 * 16];
	struct comm_store_config c = config();
	struct comm_store *store;
	double sum = 0;

	(void)state;
	c.row_cap = 100;
	store = open_store(&c);
	begin(store);
	for (uint32_t i = 0; i < 38 * 16; i++) {
		double loads = 1 + i * 7919 % 1000;

		many[i] =
			(struct comm_origin){.thread = 1 + i / 16, .site = 2 + i % 16, .object = 1};
		many[i].from[COMM_FROM_OWN] = (struct comm_origin_sums){3, 3 * loads, 0, 0};
		many[i].from[COMM_FROM_MODIFIED] = (struct comm_origin_sums){1, loads, 0, 0};
		sum += 4 * loads;
	}
	for (int i = 0; i < 60; i++)
		assert_int_equal(write_origins(store, i, many, 38 * 16), 0);
	assert_true(query("SELECT count(*) FROM origin WHERE slice = 1 AND thread <> 0") == 200);
	assert_true(query("SELECT count(*) FROM origin WHERE slice = 1") == 202);
	assert_true(query("SELECT sum(loads) FROM origin WHERE slice = 1") == sum);
	assert_true(
		query("SELECT count(*) FROM origin a JOIN origin b USING (slice, thread, context)"
		      " WHERE a.source = 'own' AND b.source = 'modified'"
		      " AND a.loads = 3 * b.loads") == 61 * 101);
	assert_true(query("SELECT n FROM loss WHERE slice = 1 AND cause = 'cells_folded'") ==
		    38 * 16 - 100);
	assert_true(query("SELECT sum(loads) FROM origin JOIN slice ON id = slice WHERE"
			  " level = 1") == 60 * sum);
	comm_store_close(store);
}

static void test_quota(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;
	struct stat st;

	(void)state;
	c.quota_bytes = 2 << 20;
	store = open_store(&c);
	/* Two runs, each of more than fits. */
	for (int r = 0; r < 2; r++) {
		begin(store);
		for (int i = 0; i < 150; i++) {
			fill(edges, 1000, i);
			assert_int_equal(write_at(store, i, edges, 1000), 0);
		}
		assert_int_equal(comm_store_end_run(store, START + 150 * SECOND, "duration"), 0);
	}
	comm_store_close(store);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= (off_t)c.quota_bytes);
	/* The end of the last run is still stored. */
	q.from_ns = -5 * (int64_t)SECOND;
	report = report_of(&q);
	assert_int_equal(report->run->id, 2);
	assert_int_equal(report->to_ns, 150 * SECOND);
	assert_true(report->total_bytes > 0);
	comm_report_free(report);
	assert_int_equal((int)query("SELECT count(*) FROM pragma_integrity_check"
				    " WHERE integrity_check <> 'ok'"),
			 0);
}

/* Slices that wide ones repeat are deleted first: only detail is lost. */
static void test_quota_takes_detail_first(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	struct comm_report *report;
	struct comm_query q = {.size = sizeof(q), .self = true};
	double sum = 0;

	(void)state;
	c.quota_bytes = 8 << 20;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 400; i++) {
		sum += fill(edges, 1000, i);
		assert_int_equal(write_at(store, i, edges, 1000), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + 400 * SECOND, "duration"), 0);
	comm_store_close(store);
	report = report_of(&q);
	assert_int_equal(report->run->deleted_ns, 0);
	assert_true(report->run->slices < 300);
	assert_true(report->read_bytes - report->unwritten_bytes == sum);
	comm_report_free(report);
}

/* A slice alone larger than the quota: refused, and nothing else is hurt. */
static void test_slice_larger_than_quota(void **state)
{
	static struct comm_edge edges[60000];
	struct comm_store_config c = config();
	struct comm_store *store;

	(void)state;
	c.quota_bytes = 1 << 20;
	c.row_cap = 60000;
	store = open_store(&c);
	begin(store);
	fill(edges, 100, 1);
	assert_int_equal(write_at(store, 0, edges, 100), 0);
	for (size_t i = 0; i < 60000; i++)
		edges[i] = (struct comm_edge){.src_thread = 1 + i % 40,
					      .dst_thread = 1 + i / 40 % 40,
					      .src_site = 2 + i / 1600 % 38,
					      .bytes = 1.5 + i,
					      .variance = 0.5 + i};
	assert_int_equal(write_at(store, 1, edges, 60000), -ENOSPC);
	/* Names that were rolled back with it are stored when they occur again. */
	assert_int_equal(write_at(store, 2, edges + 16000, 1600), 0);
	assert_int_equal(comm_store_end_run(store, START + 3 * SECOND, "duration"), 0);
	comm_store_close(store);
	assert_true(read_bytes() > 0);
	assert_true(query("SELECT count(*) FROM edge JOIN slice ON id = slice"
			  " WHERE src_context > 1 AND slice.level = 0") == 1600);
	assert_true(query("SELECT count(*) FROM edge WHERE src_context NOT IN"
			  " (SELECT id FROM context)") == 0);
	assert_true(query("SELECT count(*) FROM edge WHERE src_thread NOT IN"
			  " (SELECT id FROM thread)") == 0);
}

/* Another file fills the disk: stored slices stay, the run's end is written. */
static void test_disk_full(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[1000];
	struct comm_store *store;
	char name[160], block[4096] = {1};
	int stored = 0, refused = 0, fd;
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;

	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=8m") < 0) {
		print_message("skipped: mounting a tmpfs needs root\n");
		skip();
	}
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 20; i++) {
		fill(edges, 1000, i);
		assert_int_equal(write_at(store, i, edges, 1000), 0);
	}
	assert_int_not_equal(mode_of("-ballast"), 0);
	snprintf(name, sizeof(name), "%s/other", dir);
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	for (int i = 20; i < 300; i++) {
		int code;

		fill(edges, 1000, i);
		code = write_at(store, i, edges, 1000);
		assert_true(code == 0 || code == -ENOSPC);
		stored += code == 0;
		refused += code != 0;
		/* The other file takes all space that the store gives back. */
		while (write(fd, block, sizeof(block)) > 0)
			;
	}
	print_message("full disk: %d slices stored, %d refused\n", stored, refused);
	/* The store goes on in the space that it has. */
	assert_true(stored > 250);
	assert_int_equal(comm_store_end_run(store, START + 300 * SECOND, "duration"), 0);
	comm_store_close(store);
	close(fd);
	report = report_of(&q);
	assert_int_equal(report->run->state, COMM_RUN_FINISHED);
	assert_true(report->total_bytes > 0);
	comm_report_free(report);
	assert_int_equal((int)query("SELECT count(*) FROM pragma_integrity_check"
				    " WHERE integrity_check <> 'ok'"),
			 0);
	/* With room again the store works on. */
	unlink(name);
	store = open_store(&c);
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 1000), 0);
	comm_store_close(store);
	umount2(dir, MNT_DETACH);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_row_cap),
		TEST(test_more_cells_show_no_less),
		TEST(test_more_pairs_than_rows),
		TEST(test_roll_up_keeps_sums),
		TEST(test_strands_stand_for_parts),
		TEST(test_drawn_cells),
		TEST(test_packed_strands),
		TEST(test_hostile_strands),
		TEST(test_placements_are_summed),
		TEST(test_placements_are_capped),
		TEST(test_counts_are_summed),
		TEST(test_counts_are_capped),
		TEST(test_origins_are_summed),
		TEST(test_origins_are_capped),
		TEST(test_quota),
		TEST(test_quota_takes_detail_first),
		TEST(test_slice_larger_than_quota),
		TEST(test_disk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
