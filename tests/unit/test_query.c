// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "interval.h"
#include "made_names.h"
#include "slices.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL
#define START (1000 * SECOND)

static char path[64];
static struct made_names *names;
static struct comm_reader *reader;

enum { A = 1, B, C };

static const struct comm_error_model model = {
	.sampled_ends = 2, .factor_sd = 0.3, .confusion_sd = 0.175};

static struct comm_edge edge(uint32_t src, uint32_t dst, uint32_t src_site, uint32_t dst_site,
			     uint32_t object, double bytes, uint32_t bursts)
{
	return (struct comm_edge){.src_thread = src,
				  .dst_thread = dst,
				  .src_site = src_site,
				  .dst_site = dst_site,
				  .object = object,
				  .bytes = bytes,
				  .variance = bytes * bytes / 16,
				  .first_bytes = bytes / 4,
				  .first_variance = 1,
				  .bursts = bursts};
}

/* Three threads, two functions of two lines each, for 4 s, then cut off. */
static int setup(void **state)
{
	struct comm_store_config config = {
		.path = path, .row_cap = 1000, .detail_ns = 900 * SECOND, .rollup_ns = 60 * SECOND};
	struct comm_run_info run = {.source = "test",
				    .event = "e",
				    .command = "c",
				    .error_model = &model,
				    .start_ns = START,
				    .start_unix_ns = 5,
				    .overhead_limit = 0.02,
				    .granularity_bytes = 8};
	struct comm_edge edges[] = {
		edge(A, B, 2, 4, 1, 600, 5), edge(A, B, 3, 4, 1, 200, 4),
		edge(A, B, 2, 4, 2, 200, 3), edge(B, A, 4, 2, 1, 100, 0),
		edge(B, C, 4, 5, 3, 40, 2),  edge(C, C, 2, 2, 1, 900, 9),
		edge(C, C, 2, 4, 1, 300, 9), edge(A, C, 0, 0, 0, 10, 1),
	};
	struct comm_store *store;
	char *err;
	int64_t id;

	(void)state;
	edges[0].watched_bytes = 300;
	edges[0].watched_variance = 4 * 75 * 75;

	strcpy(path, "/tmp/test_query.XXXXXX");
	if (!mkdtemp(path))
		return -1;
	strcat(path, "/s.db");
	names = made_names_create();
	made_thread(names, 10, 11, "alpha");
	made_thread(names, 10, 12, "beta");
	made_thread(names, 10, 13, "beta2");
	made_function(names, "f", "m.so", 0x100);
	made_function(names, "g", "m.so", 0x200);
	made_site(names, 2, "f.c", 1);
	made_site(names, 2, "f.c", 2);
	made_site(names, 3, "g.c", 1);
	made_site(names, 3, NULL, 0);
	made_object(names, COMM_OBJECT_STATIC, "x", "m.so", 8);
	made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 4096);
	made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 4096); /* another process's */
	if (comm_store_open(&config, &store, &err) || comm_store_begin_run(store, &run, &id))
		return -1;
	for (int i = 0; i < 4; i++) {
		struct comm_slice_info info = {.start_ns = START + i * SECOND,
					       .end_ns = START + (i + 1) * SECOND,
					       .samples = 100,
					       .handler_ns = 6000000,
					       .daemon_ns = 4000000,
					       .target_ns = 2 * SECOND,
					       .unwritten = {.bytes = 50,
							     .first_bytes = 20,
							     .polled_bytes = i == 3 ? 60 : 30},
					       .watched = {.watches = 4, .unanswered_bytes = 77},
					       .loss = {[COMM_LOSS_RING] = i == 2 ? 7 : 0}};
		struct comm_naming naming = made_naming(names);

		if (comm_store_write_slice(store, &info, edges, i == 3 ? 1 : 8, &naming))
			return -1;
	}
	comm_store_close(store);
	return comm_reader_open(path, &reader, &err);
}

static int teardown(void **state)
{
	char wal[sizeof(path) + 8];

	(void)state;
	comm_reader_close(reader);
	free(names);
	unlink(path);
	/* A writer that ended before the reader leaves them. */
	snprintf(wal, sizeof(wal), "%s-wal", path);
	unlink(wal);
	snprintf(wal, sizeof(wal), "%s-shm", path);
	unlink(wal);
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

static struct comm_report *ask(struct comm_query query)
{
	struct comm_report *report = NULL;
	char *err = NULL;
	int code;

	query.size = sizeof(query);
	code = comm_reader_report(reader, &query, &report, &err);
	if (code)
		print_error("%s\n", err);
	assert_int_equal(code, 0);
	return report;
}

static void no_data(struct comm_query query, const char *words)
{
	struct comm_report *report;
	char *err = NULL;

	query.size = sizeof(query);
	assert_int_equal(comm_reader_report(reader, &query, &report, &err), -ENODATA);
	assert_non_null(err);
	if (!strstr(err, words))
		fail_msg("the sentence is: %s", err);
	free(err);
}

static const struct comm_report_edge *find(const struct comm_report *report, const char *from,
					   const char *to)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (!strcmp(comm_report_node_at(report, e->from)->name, from) &&
		    !strcmp(comm_report_node_at(report, e->to)->name, to))
			return e;
	}
	return NULL;
}

/* What watchpoints saw: of A > B alone, and reads without an answer. */
static void test_watched(void **state)
{
	const struct comm_query queries[] = {
		{.watched = 1, .first_read = true},
		{.watched = 1, .guess = 1},
		{.watched = 1, .by = "time"},
		{.watched = 1, .by = "thread,time"},
	};
	struct comm_report *report = ask((struct comm_query){.watched = 1});
	const struct comm_report_edge *e = find(report, "alpha", "beta");

	(void)state;
	assert_true(report->watched);
	assert_int_equal(report->watches, 16);
	assert_int_equal(report->n_edges, 1);
	assert_true(e && e->bytes == 4 * 300);
	/* 4 watches of 75 bytes each in a slice: as many observations. */
	assert_int_equal(e->samples, 16);
	/* They err by chance, and the edge by 0.2 of its logarithm besides. */
	assert_true(fabs(e->share_low - exp(-1.6449 * sqrt(log1p(1. / 16) + 0.04))) < 1e-4);
	assert_int_equal(e->level, 0);
	assert_true(e->resolved);
	assert_true(report->unwritten_bytes == 4 * 77 && report->polled_bytes == 0);
	assert_true(report->read_bytes == 4 * 377);
	assert_true(report->total_bytes == 1200);
	assert_true(fabs(comm_report_part_at(report, 0)->share - 300. / 377) < 1e-12);
	comm_report_free(report);
	report = ask((struct comm_query){0});
	assert_true(!report->watched);
	assert_int_equal(report->watches, 16);
	assert_true(find(report, "alpha", "beta")->bytes == 3600);
	comm_report_free(report);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		struct comm_query query = queries[i];
		char *err = NULL;

		query.size = sizeof(query);
		assert_int_equal(comm_reader_report(reader, &query, &report, &err), -EINVAL);
		assert_non_null(strstr(err, "watchpoints"));
		free(err);
	}
}

static void test_by_thread(void **state)
{
	struct comm_report *report = ask((struct comm_query){0});
	const struct comm_report_edge *e;
	const struct comm_node *node;

	(void)state;
	assert_int_equal(report->n_nodes, 3);
	assert_int_equal(report->n_edges, 4);
	assert_int_equal(report->n_shown, 4);
	e = find(report, "alpha", "beta");
	assert_ptr_equal(e, comm_report_edge_at(report, 0));
	assert_true(e->bytes == 3600);
	/* One burst may be behind several rows of a slice: 4 times 5. */
	assert_int_equal(e->samples, 20);
	assert_true(e->resolved);
	assert_true(fabs(e->share - 3600. / (3600 + 300 + 120 + 30)) < 1e-12);
	assert_true(report->total_bytes == 4050);
	assert_true(report->self_bytes == 3600);
	assert_true(report->folded_bytes == 0);
	assert_true(report->unwritten_bytes == 200);
	/* No more than all of a slice, whatever the store says. */
	assert_true(report->polled_bytes == 30 + 30 + 30 + 50);
	assert_true(comm_report_part_at(report, 3)->bytes == 200 - 140);
	assert_string_equal(comm_report_part_at(report, 6)->name, "polled");
	assert_true(comm_report_part_at(report, 6)->bytes == 140);
	assert_true(report->read_bytes == 4050 + 3600 + 200);
	node = comm_report_node_at(report, e->from);
	assert_int_equal(node->kind, COMM_NODE_THREAD);
	assert_int_equal(node->tgid, 10);
	assert_int_equal(node->tid, 11);
	assert_string_equal(node->id, "t1");
	assert_true(node->written_bytes == 3630 && node->read_bytes == 300);
	/* The run: cut off, its end is that of its last slice. */
	assert_int_equal(report->run->state, COMM_RUN_UNFINISHED);
	assert_int_equal(report->run->end_ns, START + 4 * SECOND);
	assert_true(fabs(report->overhead - 0.005) < 1e-12);
	assert_int_equal(report->samples, 400);
	assert_int_equal(report->n_slices, 4);
	assert_true(comm_report_slice_at(report, 0)->bytes == 1150);
	assert_int_equal(report->n_losses, 1);
	assert_string_equal(comm_report_loss_at(report, 0)->cause, "ring_full");
	assert_int_equal(comm_report_loss_at(report, 0)->n, 7);
	assert_true(*comm_report_loss_at(report, 0)->help);
	comm_report_free(report);
}

static void test_self_and_cuts(void **state)
{
	struct comm_report *report = ask((struct comm_query){.self = true});

	(void)state;
	assert_true(find(report, "beta2", "beta2")->bytes == 3600);
	assert_true(report->total_bytes == 7650 && report->self_bytes == 0);
	comm_report_free(report);
	report = ask((struct comm_query){.top = 2});
	assert_int_equal(report->n_edges, 4);
	assert_int_equal(report->n_shown, 2);
	comm_report_free(report);
	report = ask((struct comm_query){.min_share = 0.05});
	assert_int_equal(report->n_shown, 2);
	comm_report_free(report);
	report = ask((struct comm_query){.min_bytes = 121});
	assert_int_equal(report->n_shown, 2);
	assert_true(comm_report_edge_at(report, 1)->bytes == 300);
	comm_report_free(report);
}

/* What one thread writes: not what it reads, which counts as not asked for. */
static void test_writer(void **state)
{
	struct comm_report *report = ask((struct comm_query){.writer = "alpha"});

	(void)state;
	assert_int_equal(report->n_edges, 2);
	assert_non_null(find(report, "alpha", "beta"));
	assert_non_null(find(report, "alpha", "beta2"));
	assert_true(report->total_bytes == 3600 + 30);
	assert_true(comm_report_part_at(report, 5)->bytes == 3 * (900 + 300 + 100 + 40));
	comm_report_free(report);
	report = ask((struct comm_query){.writer = "alpha", .thread = "beta2"});
	assert_int_equal(report->n_edges, 1);
	comm_report_free(report);
	no_data((struct comm_query){.writer = "nobody"}, "no thread");
}

/* Objects between functions: the sums into an object are those between functions by object. */
static void test_objects_between(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "function", .objects = 1});

	(void)state;
	assert_true(report->by->between);
	assert_true(find(report, "f", "x")->bytes == 4 * 600 + 3 * (200 + 300));
	assert_true(find(report, "x", "g")->bytes == find(report, "f", "x")->bytes);
	assert_true(find(report, "f", "[heap]")->bytes == 600);
	assert_int_equal(comm_report_node_at(report, find(report, "f", "x")->from)->kind,
			 COMM_NODE_FUNCTION);
	assert_int_equal(comm_report_node_at(report, find(report, "f", "x")->to)->kind,
			 COMM_NODE_OBJECT);
	comm_report_free(report);
	/* Between threads it is the grouping of that name; joined nodes stand at ends, too. */
	report = ask((struct comm_query){.objects = 1});
	assert_true(find(report, "alpha", "x")->bytes == 4 * 600 + 3 * 200);
	comm_report_free(report);
	report = ask((struct comm_query){.by = "object", .objects = 1});
	assert_true(find(report, "alpha", "x")->bytes == 4 * 600 + 3 * 200);
	comm_report_free(report);
	report = ask((struct comm_query){.by = "thread,function", .objects = 1});
	assert_true(find(report, "alpha f", "x")->bytes == 4 * 600 + 3 * 200);
	comm_report_free(report);
}

/* Of what others wrote to beta2, 3,600 B that it wrote itself may be a part: they count half. */
static void test_own_reads_count_half_in_the_confusion(void **state)
{
	struct comm_report *report = ask((struct comm_query){.self = true});
	const struct comm_report_edge *e = find(report, "beta", "beta2");
	double z = comm_interval_z(0.9), others = (30 + 3600 / 2.) / 120;

	(void)state;
	assert_true(fabs(log(e->share / e->share_low) -
			 hypot(log(e->noise), z * model.confusion_sd * others)) < 1e-9);
	/* An edge's own bytes are no others. */
	e = find(report, "beta2", "beta2");
	assert_true(fabs(log(e->share / e->share_low) -
			 hypot(log(e->noise), z * model.confusion_sd * 150 / 3600)) < 1e-9);
	comm_report_free(report);
}

/*
 * Functions also communicate within a thread: left out when only edges between
 * threads are asked for.
 */
static void test_across(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "function"});

	(void)state;
	assert_true(find(report, "f", "g")->bytes == 3600 + 900);
	assert_true(report->within_bytes == 0);
	comm_report_free(report);
	report = ask((struct comm_query){.by = "function", .across = true});
	assert_true(find(report, "f", "g")->bytes == 3600);
	assert_true(report->within_bytes == 3600);
	/* Within a function, but from one thread to another: that is asked for. */
	assert_true(find(report, "g", "g")->bytes == 120);
	assert_true(report->self_bytes == 0 && report->folded_bytes == 30);
	assert_true(report->read_bytes == report->total_bytes + 3600 + 30 + 200);
	comm_report_free(report);
}

/* Threads of one role: what goes from one to another is shown, what stays in one is not. */
static void test_roles(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "role"}), *all;

	(void)state;
	all = ask((struct comm_query){.by = "role", .self = true});
	assert_true(report->within_bytes > 0 && report->self_bytes == 0);
	assert_true(all->total_bytes == report->total_bytes + report->within_bytes);
	assert_true(find(report, "beta", "beta")->bytes > 0);
	comm_report_free(all);
	comm_report_free(report);
}

/* The budget of a target that does little is the floor. */
static void test_floor(void **state)
{
	struct comm_report *report = ask((struct comm_query){0});
	sqlite3 *db;

	(void)state;
	assert_true(report->overhead_allowed == 0.02);
	comm_report_free(report);
	/* A fifth of one CPU, while the target used two. */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE run SET floor = 0.2", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	report = ask((struct comm_query){0});
	assert_true(fabs(report->overhead_allowed - 0.1) < 1e-9);
	comm_report_free(report);
}

/* Time in which sampling was disabled is none: not in rates, nor as a part of the run. */
static void test_disabled(void **state)
{
	struct comm_report *report = ask((struct comm_query){0});
	uint64_t range_ns = report->to_ns - report->from_ns;
	size_t n_losses = report->n_losses, n_blocks = report->n_blocks;
	sqlite3 *db;

	(void)state;
	assert_int_equal(report->enabled_ns, range_ns);
	comm_report_free(report);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	/* A quarter of the first slice; the last one as a whole, told as more than it has. */
	assert_int_equal(
		sqlite3_exec(db,
			     "INSERT INTO loss SELECT run, id, 'disabled_ms',"
			     " (end_ns - start_ns) / 4000000 FROM slice ORDER BY id LIMIT 1;"
			     "INSERT INTO loss SELECT run, id, 'disabled_ms', 1 << 60 FROM slice"
			     " ORDER BY id DESC LIMIT 1;"
			     "UPDATE run SET floor = 0.2",
			     NULL, NULL, NULL),
		SQLITE_OK);
	report = ask((struct comm_query){0});
	assert_int_equal(report->to_ns - report->from_ns, range_ns);
	assert_int_equal(report->enabled_ns, range_ns - range_ns / n_blocks * 5 / 4);
	assert_int_equal(report->n_losses, n_losses);
	assert_int_equal(report->n_blocks, n_blocks - 1);
	assert_true(fabs(report->overhead_allowed - 0.2 * report->enabled_ns / report->target_ns) <
		    1e-9);
	comm_report_free(report);
	sqlite3_close(db);
}

static void test_thread_by_label(void **state)
{
	struct comm_report *report = ask((struct comm_query){.thread = "beta/12"});

	(void)state;
	assert_non_null(find(report, "beta", "alpha"));
	assert_null(find(report, "alpha", "beta2"));
	comm_report_free(report);
	no_data((struct comm_query){.thread = "beta/13"}, "no thread");
}

static void test_first_read(void **state)
{
	struct comm_report *report = ask((struct comm_query){.first_read = true});

	(void)state;
	assert_true(find(report, "alpha", "beta")->bytes == 900);
	assert_true(report->unwritten_bytes == 80);
	assert_true(report->polled_bytes == 0);
	assert_true(comm_report_slice_at(report, 0)->bytes == 1150 / 4.);
	comm_report_free(report);
}

static void test_by_function(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "function"});
	const struct comm_report_edge *e = find(report, "f", "g");

	(void)state;
	/* Within a thread as well: 3 * (1000 + 300) + 600. */
	assert_true(e->bytes == 4500);
	/* By reading thread: beta 4 * 5, beta2 3 * 9. */
	assert_int_equal(e->samples, 20 + 27);
	assert_string_equal(comm_report_node_at(report, e->from)->module, "m.so");
	assert_int_equal(comm_report_node_at(report, e->from)->start, 0x100);
	assert_int_equal(report->n_edges, 2);
	/* f with itself, g with itself, and accesses without a function. */
	assert_true(report->self_bytes == 3 * (900 + 40));
	assert_true(report->folded_bytes == 30);
	comm_report_free(report);
}

static void test_by_line(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "line"});
	const struct comm_report_edge *e = comm_report_edge_at(report, 0);

	(void)state;
	/* f.c:1 to g.c:1: 3 * (600 + 200 + 300) + 600 */
	assert_true(e->bytes == 3900);
	assert_string_equal(comm_report_node_at(report, e->from)->source, "f.c");
	assert_int_equal(comm_report_node_at(report, e->from)->line, 1);
	assert_string_equal(comm_report_node_at(report, e->from)->name, "f");
	assert_string_equal(comm_report_node_at(report, e->to)->source, "g.c");
	e = find(report, "g", "g");
	assert_true(e->bytes == 120);
	assert_string_equal(comm_report_node_at(report, e->to)->source, "");
	comm_report_free(report);
}

static void test_by_object(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "object"});
	const struct comm_report_edge *e = find(report, "alpha", "x");
	const struct comm_node *x;
	int heaps = 0;

	(void)state;
	/* Two objects of one name cannot be told apart: one node. */
	for (size_t i = 0; i < report->n_nodes; i++)
		heaps += !strcmp(comm_report_node_at(report, i)->name, "[heap]");
	assert_int_equal(heaps, 1);
	assert_true(e->bytes == 3000);
	x = comm_report_node_at(report, e->to);
	assert_int_equal(x->kind, COMM_NODE_OBJECT);
	assert_string_equal(x->object_kind, "static");
	assert_int_equal(x->size_bytes, 8);
	assert_true(x->read_bytes == 3300 && x->written_bytes == 3300);
	assert_string_equal(comm_report_node_at(report, x->main_writer)->name, "alpha");
	assert_string_equal(comm_report_node_at(report, x->main_reader)->name, "beta");
	assert_true(x->main_bytes == 3000);
	assert_true(find(report, "x", "beta")->bytes == 3000);
	assert_true(find(report, "[heap]", "beta2")->bytes == 120);
	assert_true(report->total_bytes == 4050);
	assert_true(report->self_bytes == 3600);
	comm_report_free(report);
}

static void test_ranges(void **state)
{
	static const struct {
		int64_t from_ns, to_ns;
		uint64_t expect_from_ns, expect_to_ns;
		double bytes;
	} cases[] = {
		{0, 2 * SECOND, 0, 2 * SECOND, 2000},
		{SECOND, 0, SECOND, 4 * SECOND, 2600},
		{-(int64_t)SECOND, 0, 3 * SECOND, 4 * SECOND, 600},
		{-3 * (int64_t)SECOND, -1 * (int64_t)SECOND, SECOND, 3 * SECOND, 2000},
		{SECOND + 1, 2 * SECOND - 1, SECOND, 2 * SECOND, 1000},
		{0, 9000 * SECOND, 0, 4 * SECOND, 3600},
		{-9000 * (int64_t)SECOND, 0, 0, 4 * SECOND, 3600},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct comm_report *report = ask(
			(struct comm_query){.from_ns = cases[i].from_ns, .to_ns = cases[i].to_ns});

		assert_int_equal(report->from_ns, cases[i].expect_from_ns);
		assert_int_equal(report->to_ns, cases[i].expect_to_ns);
		assert_true(find(report, "alpha", "beta")->bytes == cases[i].bytes);
		comm_report_free(report);
	}
	no_data((struct comm_query){.from_ns = 5 * SECOND}, "range is empty");
	no_data((struct comm_query){.from_ns = 2 * SECOND, .to_ns = SECOND}, "range is empty");
	no_data((struct comm_query){.from_ns = INT64_MIN, .to_ns = INT64_MIN}, "range is empty");
}

static void test_threads(void **state)
{
	static const struct {
		const char *thread;
		double total;
	} cases[] = {
		{"11", 3930}, {"alpha", 3930}, {"beta", 4020}, {"beta*", 4050}, {"13", 150},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct comm_report *report = ask((struct comm_query){.thread = cases[i].thread});

		assert_true(report->total_bytes == cases[i].total);
		comm_report_free(report);
	}
	no_data((struct comm_query){.thread = "gamma"}, "no thread 'gamma'");
}

static void test_no_data(void **state)
{
	struct comm_query query = {.size = sizeof(query), .run = 7};
	struct comm_report *report;

	(void)state;
	assert_int_equal(comm_reader_report(reader, &query, &report, NULL), -ENODATA);
	no_data((struct comm_query){.run = 7}, "no run 7");
	no_data((struct comm_query){.by = "region"}, "regions");
}

/* A program may have been compiled against an older or a newer comm.h. */
static void test_size(void **state)
{
	struct {
		struct comm_query query;
		uint64_t newer;
	} larger = {.query = {.size = sizeof(larger), .top = 1}};
	struct comm_query shorter = {.size = offsetof(struct comm_query, top), .self = true};
	struct comm_report *report;
	char *err = NULL;

	(void)state;
	shorter.top = 1;
	assert_int_equal(comm_reader_report(reader, &shorter, &report, NULL), 0);
	assert_true(report->total_bytes == 7650 && report->n_shown > 1);
	comm_report_free(report);
	assert_int_equal(comm_reader_report(reader, &larger.query, &report, NULL), 0);
	assert_int_equal(report->n_shown, 1);
	comm_report_free(report);
	larger.newer = 1ULL << 63;
	report = NULL;
	assert_int_equal(comm_reader_report(reader, &larger.query, &report, &err), -E2BIG);
	assert_non_null(strstr(err, "newer"));
	assert_null(report);
	free(err);
	shorter.size = 0;
	assert_int_equal(comm_reader_report(reader, &shorter, &report, &err), -EINVAL);
	assert_non_null(strstr(err, "COMM_QUERY_INIT"));
	free(err);
	shorter.size = SIZE_MAX;
	assert_int_equal(comm_reader_report(reader, &shorter, &report, NULL), -EINVAL);
}

static void test_past_the_last(void **state)
{
	struct comm_report *report = ask((struct comm_query){0});
	struct comm_runs *runs;

	(void)state;
	assert_non_null(comm_report_node_at(report, report->n_nodes - 1));
	assert_null(comm_report_node_at(report, report->n_nodes));
	assert_null(comm_report_edge_at(report, report->n_edges));
	assert_null(comm_report_loss_at(report, report->n_losses));
	assert_null(comm_report_slice_at(report, report->n_slices));
	comm_report_free(report);
	assert_int_equal(comm_reader_runs(reader, &runs, NULL), 0);
	assert_int_equal(comm_runs_count(runs), 1);
	assert_int_equal(comm_runs_at(runs, 0)->slices, 4);
	assert_null(comm_runs_at(runs, 1));
	comm_runs_free(runs);
	comm_runs_free(NULL);
}

static void newest(int64_t *run, uint64_t *end_ns, uint64_t *changes)
{
	char *err = NULL;

	assert_int_equal(comm_reader_newest(reader, run, end_ns, changes, &err), 0);
	assert_null(err);
}

/* The newest slice, which a live view asks for before a report. */
static void test_newest(void **state)
{
	struct comm_store_config config = {
		.path = path, .row_cap = 1000, .detail_ns = 900 * SECOND, .rollup_ns = 60 * SECOND};
	struct comm_run_info info = {
		.source = "test", .event = "e", .command = "c", .error_model = &model};
	struct comm_edge edges[] = {edge(A, B, 2, 4, 1, 600, 5)};
	struct comm_slice_info slice = {.start_ns = 7, .end_ns = 9};
	struct comm_naming naming = made_naming(names);
	uint64_t end_ns, changes, before;
	struct comm_store *store;
	int64_t run;
	char *err;

	(void)state;
	newest(&run, &end_ns, &before);
	assert_int_equal(run, 1);
	assert_int_equal(end_ns, START + 4 * SECOND);
	newest(&run, &end_ns, &changes);
	assert_int_equal(changes, before);
	assert_int_equal(comm_store_open(&config, &store, &err), 0);
	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	newest(&run, &end_ns, &changes);
	assert_int_equal(run, 2);
	assert_int_equal(end_ns, 0);
	assert_int_not_equal(changes, before);
	before = changes;
	assert_int_equal(comm_store_write_slice(store, &slice, edges, 1, &naming), 0);
	newest(&run, &end_ns, &changes);
	assert_int_equal(end_ns, 9);
	assert_int_not_equal(changes, before);
	/* After the last one the minute before it is summed: a later row of older time. */
	slice.start_ns = 9;
	slice.end_ns = 10;
	assert_int_equal(comm_store_write_slice(store, &slice, edges, 1, &naming), 0);
	slice.start_ns = 60 * SECOND;
	slice.end_ns = 61 * SECOND;
	assert_int_equal(comm_store_write_slice(store, &slice, edges, 1, &naming), 0);
	newest(&run, &end_ns, &changes);
	assert_int_equal(end_ns, 61 * SECOND);
	comm_store_close(store);
}

static void test_opening(void **state)
{
	struct comm_reader *r;
	char *err;

	(void)state;
	assert_int_equal(comm_reader_open("/nonexistent/x.db", &r, &err), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/x.db"));
	free(err);
	assert_int_equal(comm_reader_open("/etc/passwd", &r, &err), -EMEDIUMTYPE);
	free(err);
	assert_int_equal(comm_reader_open("/tmp", &r, &err), -EISDIR);
	free(err);
	assert_int_equal(comm_reader_open("/nonexistent/x.db", &r, NULL), -ENOENT);
	assert_int_equal(comm_reader_open("/etc/passwd", &r, NULL), -EMEDIUMTYPE);
}

static void test_intervals(void **state)
{
	struct comm_blocks none = {0}, eight = {0};
	struct comm_intervals without, with;
	double low, high, spread, z = comm_interval_z(0.9);
	struct comm_estimate e = {.bytes = 1000};

	(void)state;
	assert_true(fabs(z - 1.6448536) < 1e-6);
	assert_true(fabs(comm_interval_z(0.95) - 1.9599640) < 1e-6);
	assert_true(comm_interval_z(0) == z && comm_interval_z(1) == z &&
		    comm_interval_z(NAN) == z);
	comm_intervals_init(&without, &model, &none, 0.9);
	comm_intervals_of(&without, &e, &low, &high, &spread);
	/* Only the error of the factor, which no share has. */
	assert_true(fabs(high / 1000 - exp(z * 0.3)) < 1e-9);
	assert_true(fabs(low * high - 1e6) < 1e-3);
	assert_true(spread == 1);
	/* Sampling of both ends. */
	e.variance = 1e5;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(high / 1000 - exp(z * sqrt(log1p(0.2) + 0.3 * 0.3))) < 1e-9);
	assert_true(fabs(spread - exp(z * sqrt(log1p(0.2)))) < 1e-9);
	/* What the blocks differ by counts where it is more. */
	for (int i = 0; i < 16; i++)
		assert_int_equal(comm_blocks_add(&eight, 1), i % 8);
	comm_intervals_init(&with, &model, &eight, 0.9);
	assert_true(fabs(with.t - 1.8945786) < 1e-6);
	for (int i = 0; i < 8; i++)
		e.sums.sum[i] = 125;
	comm_intervals_of(&with, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * sqrt(log1p(0.2)))) < 1e-9);
	e.sums.sum[0] = 1000;
	for (int i = 1; i < 8; i++)
		e.sums.sum[i] = 0;
	comm_intervals_of(&with, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * sqrt(log1p(pow(with.t / z, 2))))) < 1e-6);
	/* Guesses may all be wrong. */
	e = (struct comm_estimate){.bytes = 1000, .guess_bytes = 500};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * sqrt(log1p(0.25)))) < 1e-9);
	/* The interval is wider, the smaller the edge's part of all bytes read there is. */
	e = (struct comm_estimate){.bytes = 1000, .read_bytes = 4000};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(low / 1000 - exp(-z * hypot(0.3, 3 * 0.175))) < 1e-9);
	/* What the reader wrote itself is mistaken more rarely; more than the rest it cannot be. */
	e.own_bytes = 2000;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * 2 * 0.175)) < 1e-9);
	e.own_bytes = 1e9;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(fabs(spread - exp(z * 1.5 * 0.175)) < 1e-9);
	e.own_bytes = 0;
	e.read_bytes = 1e6;
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low < 1 && fabs(high / 1e6 - exp(z * 0.3)) < 1e-9);
	e = (struct comm_estimate){.bytes = 1000, .variance = 1e12};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low >= 0 && low < 1000 && high > 1000);
	e = (struct comm_estimate){.variance = 5};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low == 0 && high == 0 && spread == 1);
	e = (struct comm_estimate){.bytes = 1000, .variance = NAN, .read_bytes = NAN};
	comm_intervals_of(&without, &e, &low, &high, &spread);
	assert_true(low > 0 && isfinite(high));
}

/* A variance between blocks is that of the sum, whatever the blocks' lengths. */
/* Of another confidence: what a query for it says. */
static void test_intervals_of_a_report(void **state)
{
	struct comm_report *report = ask((struct comm_query){.by = "function", .self = true});
	struct comm_report *sure =
		ask((struct comm_query){.by = "function", .self = true, .confidence = 0.99});
	struct comm_interval interval[16];

	(void)state;
	assert_in_range(report->n_edges, 2, 16);
	assert_int_equal(sure->n_edges, report->n_edges);
	comm_report_intervals(report, 0.99, interval);
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(sure, i);

		assert_true(edge->low < comm_report_edge_at(report, i)->low);
		assert_true(interval[i].low == edge->low && interval[i].high == edge->high);
		assert_true(interval[i].share_low == edge->share_low &&
			    interval[i].share_high == edge->share_high);
		assert_true(interval[i].noise == edge->noise);
	}
	comm_report_free(report);
	comm_report_free(sure);
}

static void test_blocks(void **state)
{
	const double t90[] = {6.3137515, 2.9199856, 2.3533634, 2.1318468, 2.0150484, 1.9431803};
	struct comm_blocks blocks = {0};
	struct comm_block_sums sums = {{10, 30, 20, 20}};

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_true(comm_blocks_variance(&blocks, &sums, NULL) < 0);
		assert_false(comm_blocks_agree(&blocks, &sums, 100));
		comm_blocks_add(&blocks, 2);
	}
	assert_true(fabs(comm_blocks_variance(&blocks, &sums, NULL) - 200 / 0.75) < 1e-9);
	assert_true(comm_blocks_agree(&blocks, &sums, 50. / 30));
	assert_false(comm_blocks_agree(&blocks, &sums, 49. / 30));
	/* A longer block is expected to have more. */
	blocks.weight[1] = 6;
	blocks.weight[0] = 2;
	blocks.weight[2] = blocks.weight[3] = 4;
	assert_true(comm_blocks_variance(&blocks, &sums, NULL) < 1e-9);
	/* So has one where more was read in all. */
	assert_true(comm_blocks_variance(&blocks, &sums,
					 &(struct comm_block_sums){{100, 300, 200, 200}}) < 1e-9);
	blocks = (struct comm_blocks){0};
	comm_blocks_add(&blocks, 1);
	for (int i = 0; i < 6; i++) {
		comm_blocks_add(&blocks, 1);
		assert_true(fabs(comm_blocks_t(&blocks, 0.9) - t90[i]) < 1e-6);
	}
}

/* Nothing in a report may scan a table: each step must go by a key. */
static void test_plans(void **state)
{
	static const char *const queries[] = {
		"SELECT bytes FROM edge WHERE run = ?1 AND slice = ?2",
		"SELECT id FROM slice WHERE run = ?1 AND start_ns < ?3 AND end_ns > ?2"
		" ORDER BY start_ns, level DESC",
		"SELECT cause, n FROM loss WHERE run = ?1 AND slice = ?2",
		"SELECT id, tid, name FROM thread WHERE run = ?1",
		"SELECT name FROM function WHERE ?1 AND id = ?2",
		"SELECT name FROM object WHERE run = ?1 AND id = ?2",
		"SELECT f.name FROM site s JOIN function f ON f.id = s.function"
		" WHERE ?1 AND s.id = ?2",
		"SELECT s.function FROM context c JOIN site s ON s.id = c.site WHERE c.id = ?1",
		"SELECT sampled_ends FROM run WHERE id = ?1",
		"SELECT max(id) FROM run",
		"SELECT 1 FROM origin WHERE run = ?1 LIMIT 1",
		"SELECT loads FROM origin WHERE run = ?1 AND slice = ?2",
		"SELECT 1 FROM placement WHERE run = ?1 LIMIT 1",
		"SELECT cpu FROM placement WHERE run = ?1 AND slice = ?2 ORDER BY thread",
		"SELECT end_ns FROM slice WHERE run = ?1"
		" ORDER BY start_ns DESC, level DESC LIMIT 1",
		"SELECT id FROM slice WHERE level = ?2 AND run = ?1 AND start_ns >= ?3"
		" AND start_ns < ?4",
	};
	sqlite3_stmt *stmt;
	sqlite3 *db;
	char text[512];

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", queries[i]);
		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			const char *detail = (const char *)sqlite3_column_text(stmt, 3);

			if (!strncmp(detail, "SCAN", 4))
				fail_msg("%s: %s", queries[i], detail);
		}
		sqlite3_finalize(stmt);
	}
	sqlite3_close(db);
}

/* A hostile store: wrong types, wild ids, nested nonsense. */
static void test_hostile_store(void **state)
{
	static const char *const damage[] = {
		"UPDATE run SET source = NULL, command = x'ff00fe', start_ns = 'soon'",
		"UPDATE run SET start_ns = 9223372036854775807",
		"UPDATE slice SET start_ns = -5, end_ns = 9223372036854775807",
		"UPDATE slice SET end_ns = start_ns - 1",
		"UPDATE edge SET bytes = 1e308, variance = 1e308",
		"UPDATE edge SET bytes = 'many', bursts = -1",
		"UPDATE OR IGNORE edge SET src_thread = 9000000000, dst_context = -3",
		"UPDATE OR IGNORE edge SET src_context = 16777215, object = 4294967295",
		"UPDATE context SET site = 'here', region = -1",
		"UPDATE run SET sampled_ends = -1, factor_sd = 9e999, confusion_sd = 'much'",
		"UPDATE run SET uuid = NULL",
		"DELETE FROM thread; DELETE FROM function; DELETE FROM site; DELETE FROM object",
		"DELETE FROM context",
		"UPDATE thread SET name = NULL, tid = 'x'",
		"UPDATE loss SET cause = '', n = -1",
		"INSERT INTO slice SELECT NULL, run, 9, start_ns, end_ns + 7e9, 1, 1, 1, 1, 1, 1, "
		"1,"
		" 1, 1, 1, 1, 1 FROM slice",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		char text[1024];
		sqlite3 *db;

		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		/* The constraints of an honest schema would be in the way. */
		snprintf(text, sizeof(text),
			 "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
			 " replace(sql, ' NOT NULL', '') WHERE name NOT LIKE 'sqlite%%'");
		sqlite3_exec(db, text, NULL, NULL, NULL);
		sqlite3_close(db);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		sqlite3_exec(db, damage[i], NULL, NULL, NULL);
		sqlite3_close(db);
		for (size_t by = 0; comm_groupings()[by]; by++) {
			struct comm_query query = {.size = sizeof(query),
						   .by = comm_groupings()[by]->name,
						   .self = true,
						   .thread = by ? "*" : NULL};
			struct comm_report *report;
			struct comm_runs *runs;
			char *err;

			if (comm_reader_report(reader, &query, &report, &err) == 0)
				comm_report_free(report);
			else
				free(err);
			if (comm_reader_runs(reader, &runs, &err) == 0)
				comm_runs_free(runs);
			else
				free(err);
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_by_thread),
		TEST(test_watched),
		TEST(test_self_and_cuts),
		TEST(test_writer),
		TEST(test_objects_between),
		TEST(test_own_reads_count_half_in_the_confusion),
		TEST(test_across),
		TEST(test_roles),
		TEST(test_floor),
		TEST(test_disabled),
		TEST(test_thread_by_label),
		TEST(test_first_read),
		TEST(test_by_function),
		TEST(test_by_line),
		TEST(test_by_object),
		TEST(test_ranges),
		TEST(test_threads),
		TEST(test_no_data),
		TEST(test_size),
		TEST(test_past_the_last),
		TEST(test_newest),
		TEST(test_opening),
		TEST(test_plans),
		TEST(test_hostile_store),
		cmocka_unit_test(test_intervals),
		TEST(test_intervals_of_a_report),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
