// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of a store: queries of other versions, its ends, the newest slice, and hostile rows. */
#include <sqlite3.h>

#include "made_run.h"

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

/* No time is before the run's start, and no slice ends before it begins. */
static void check_times(struct comm_report *report)
{
	assert_true(report->from_ns <= report->to_ns);
	for (size_t i = 0; i < report->n_slices; i++)
		assert_true(comm_report_slice_at(report, i)->start_ns <=
			    comm_report_slice_at(report, i)->end_ns);
	comm_report_free(report);
}

/* A hostile store: wrong types, wild ids, nested nonsense. */
static void test_hostile_store(void **state)
{
	static const char *const damage[] = {
		/* Before its run. */
		"UPDATE slice SET start_ns = 5 WHERE id = (SELECT min(id) FROM slice)",
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
				check_times(report);
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
		TEST(test_size),    TEST(test_past_the_last), TEST(test_newest),
		TEST(test_opening), TEST(test_plans),	      TEST(test_hostile_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
