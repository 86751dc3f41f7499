// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports by what a query asks for. */
#include <math.h>

#include <sqlite3.h>

#include "interval.h"
#include "made_run.h"

/* Of the logarithm of an edge, besides all else. */
static const double EDGE_SD = 0.15;

/* What watchpoints saw: of A > B alone, and reads without an answer. */
static void test_watched(void **state)
{
	const struct comm_query queries[] = {
		{.fresh = 1, .first_read = true},
		{.fresh = 1, .by = "time"},
		{.fresh = 1, .by = "thread,time"},
	};
	struct comm_report *report = ask((struct comm_query){.fresh = 1});
	const struct comm_report_edge *e = find(report, "alpha", "beta");

	(void)state;
	assert_true(report->fresh);
	assert_int_equal(report->windows, 16);
	assert_int_equal(report->n_edges, 1);
	assert_true(e && e->bytes == 4 * 300 + 3 * 150);
	/* Windows of 75 bytes each, 4 in a slice and 2 of another function: as many observations. */
	assert_int_equal(e->samples, 22);
	/* They err by chance, and by what code takes for what it reads: by 0.3 in the logarithm. */
	assert_true(fabs(e->share_low - exp(-1.6449 * sqrt(log1p(1. / 22) + 0.09))) < 1e-4);
	assert_int_equal(e->level, 0);
	assert_true(e->resolved);
	assert_true(report->unwritten_bytes == 4 * 77 && report->polled_bytes == 0);
	assert_true(report->read_bytes == 1650 + 4 * 77);
	assert_true(report->total_bytes == 1650);
	assert_true(fabs(comm_report_part_at(report, 0)->share - 1650. / 1958) < 1e-12);
	comm_report_free(report);
	report = ask((struct comm_query){.fresh = 1, .by = "function", .across = true});
	for (size_t i = 0; i < report->n_edges; i++) {
		e = comm_report_edge_at(report, i);
		assert_true(e->low < e->bytes && e->bytes < e->high);
	}
	assert_true(report->n_edges > 0);
	comm_report_free(report);
	report = ask((struct comm_query){0});
	assert_true(!report->fresh);
	assert_int_equal(report->windows, 16);
	assert_true(find(report, "alpha", "beta")->bytes == 3600);
	comm_report_free(report);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		struct comm_query query = queries[i];
		char *err = NULL;

		query.size = sizeof(query);
		assert_int_equal(comm_reader_report(reader, &query, &report, &err), -EINVAL);
		assert_non_null(strstr(err, "windows"));
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
	assert_true(fabs(log(e->bytes / e->low) -
			 hypot(z * model.factor_sd,
			       hypot(log(e->noise),
				     z * hypot(model.confusion_sd * others, EDGE_SD)))) < 1e-9);
	/* An edge's own bytes are no others. */
	e = find(report, "beta2", "beta2");
	assert_true(fabs(log(e->bytes / e->low) -
			 hypot(z * model.factor_sd,
			       hypot(log(e->noise),
				     z * hypot(model.confusion_sd * 150 / 3600, EDGE_SD)))) < 1e-9);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_by_thread),	    TEST(test_watched),
		TEST(test_self_and_cuts),   TEST(test_writer),
		TEST(test_objects_between), TEST(test_own_reads_count_half_in_the_confusion),
		TEST(test_across),	    TEST(test_roles),
		TEST(test_floor),	    TEST(test_disabled),
		TEST(test_thread_by_label), TEST(test_first_read),
		TEST(test_by_function),	    TEST(test_by_line),
		TEST(test_by_object),	    TEST(test_ranges),
		TEST(test_threads),	    TEST(test_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
