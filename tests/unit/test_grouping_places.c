// SPDX-License-Identifier: GPL-2.0-or-later
/* Groupings by where threads ran: CPUs and nodes, and the places of a node. */
#include <sqlite3.h>

#include "made_program.h"

/* Bytes go to the CPUs of both ends, slice by slice. */
static void test_by_cpu(void **state)
{
	struct comm_query query = {.size = sizeof(query), .by = "cpu", .self = true};
	struct comm_report *report = ask(plain.reader, query);
	char *err = NULL;

	(void)state;
	/*
	 * Bytes that main writes and worker 1 reads; worker 1 is on CPU 0 in the
	 * first slice alone.
	 */
	check_near("cpu", "0 to 7", between(report, "cpu 0", "cpu 7"),
		   2 * 4096 * 0.75 + 512 * 0.25);
	check_near("cpu", "0 to 0", between(report, "cpu 0", "cpu 0"), 4096 * 0.75 + 512 * 0.75);
	check_near("cpu", "7 to 7", between(report, "cpu 7", "cpu 7"),
		   2 * 4096 * 0.25 + 2 * 512 * 0.25);
	check_near("cpu", "7 to 0", between(report, "cpu 7", "cpu 0"),
		   4096 * 0.25 + 2 * 512 * 0.75);
	check_near("cpu", "2 to 2", between(report, "cpu 2", "cpu 2"), 3 * 2048);
	check_near("cpu", "unknown to 0", between(report, "cpu (other)", "cpu 0"), 3 * 256 * 0.75);
	/* Samples without a thread give no CPU a share. */
	assert_null(by_key(report, "cpu 5"));
	comm_report_free(report);
	assert_int_equal(comm_reader_report(unplaced.reader, &query, &report, &err), -ENODATA);
	assert_non_null(strstr(err, "run 1 has no record of which CPU"));
	free(err);
}

/* The same by node: CPUs 0 and 2 are on node 0, CPU 7 is on node 3. */
static void test_by_node(void **state)
{
	struct comm_query query = {.size = sizeof(query), .by = "node", .self = true};
	struct comm_report *report = ask(plain.reader, query);

	(void)state;
	check_near("node", "0 to 3", between(report, "node 0", "node 3"),
		   2 * 4096 * 0.75 + 512 * 0.25);
	check_near("node", "3 to 3", between(report, "node 3", "node 3"),
		   2 * 4096 * 0.25 + 2 * 512 * 0.25);
	check_near("node", "unknown to 0", between(report, "node (other)", "node 0"),
		   3 * 256 * 0.75);
	assert_null(by_key(report, "node 7"));
	comm_report_free(report);
}

/* After test_hostile_placements, so that there are some. */
static void test_hostile_nodes(void **state)
{
	static const struct {
		const char *numa, *err;
	} rows[] = {
		{"''", "run 1 does not say which CPU is on which NUMA node"},
		{"'0:0-7'", "run 1 is of a machine with one NUMA node"},
		{"'0:0-3;0:4-7'", "with one NUMA node"},
		{"x'00ff'", "does not say"},
		{"'nodes'", "does not say"},
		{"'0:3-0;1:'", "does not say"},
		{"'99999999999999999999:0;1:1'", "does not say"},
		{"'0:0-99999999;1:1'", "does not say"},
		{"'0:0;1:1;;;:'", NULL},
		{"'0:0-8191;1023:0-8191,-'", NULL},
	};
	struct comm_query query = {.size = sizeof(query), .by = "node", .self = true};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct comm_report *report;
		char sql[128], *err = NULL;
		sqlite3 *db;
		int code;

		snprintf(sql, sizeof(sql), "UPDATE run SET numa = %s", rows[i].numa);
		assert_int_equal(sqlite3_open(unplaced.path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		code = comm_reader_report(unplaced.reader, &query, &report, &err);
		assert_int_equal(code, rows[i].err ? -ENODATA : 0);
		if (code)
			assert_non_null(strstr(err, rows[i].err));
		else
			comm_report_free(report);
		free(err);
	}
}

static void test_hostile_placements(void **state)
{
	static const char insert[] =
		"INSERT INTO placement SELECT 1, id, 1, 0, 'many' FROM slice;"
		"INSERT INTO placement SELECT 1, id, 3, 1, -7 FROM slice;"
		"INSERT INTO placement SELECT 1, id, 2, -1, 9e999 FROM slice;"
		"INSERT INTO placement SELECT 1, id, 2, 1 << 40, 9e999 FROM slice;"
		"INSERT INTO placement SELECT 1, id, 3, 'x', 1 FROM slice";
	struct comm_query query = {.self = true};
	struct comm_report *by_thread, *report;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(unplaced.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, insert, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	by_thread = ask(unplaced.reader, query);
	query.by = "cpu";
	report = ask(unplaced.reader, query);
	check_sums(report, by_thread);
	check_nodes(report);
	comm_report_free(report);
	comm_report_free(by_thread);
}

/* By thread each CPU of each slice; by role the same threads under their role's node. */
static void test_places(void **state)
{
	struct comm_report *report = ask(plain.reader, (struct comm_query){.by = "role"});
	const struct comm_report_place *place;
	uint64_t samples = 0, last_ns = 0;
	size_t n_unplaced = 0;

	(void)state;
	assert_int_equal(report->n_places, 0);
	comm_report_free(report);
	report = ask(plain.reader, (struct comm_query){.by = "role", .places = 1});
	/* worker-9 and the other process were never sampled. */
	assert_int_equal(report->n_places, SLICES * 4 + 2);
	for (size_t i = 0; i < report->n_places; i++) {
		place = comm_report_place_at(report, i);
		n_unplaced += place->cpu < 0;
		if (place->cpu < 0)
			continue;
		assert_int_equal(n_unplaced, 0);
		assert_true(place->from_ns >= last_ns);
		last_ns = place->from_ns;
		samples += place->samples;
		if (place->tid == 101)
			assert_int_equal(place->cpu, last_ns ? 7 : 0);
	}
	assert_int_equal(samples, SLICES * 19);
	assert_int_equal(last_ns, (SLICES - 1) * SECOND);
	for (size_t i = 0; i < report->n_places; i++) {
		const char *name = "";

		place = comm_report_place_at(report, i);
		for (size_t j = 0; j < report->n_nodes; j++)
			if (!strcmp(comm_report_node_at(report, j)->id, place->node))
				name = comm_report_node_at(report, j)->name;
		assert_string_equal(name, place->tid == 100 ? "main" : "worker");
	}
	assert_null(comm_report_place_at(report, report->n_places));
	comm_report_free(report);
	report = ask(unplaced.reader, (struct comm_query){.places = 1});
	assert_int_equal(report->n_places, 5);
	assert_int_equal(comm_report_place_at(report, 4)->cpu, -1);
	comm_report_free(report);
}

static void test_no_places(void **state)
{
	static const char *const none[] = {"cpu",    "function", "line",
					   "object", "region",	 "thread,function"};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct comm_query query = {.size = sizeof(query), .by = none[i], .places = 1};
		struct comm_report *report;
		int code = comm_reader_report(plain.reader, &query, &report, NULL);

		assert_int_equal(code, -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_cpu),
		cmocka_unit_test(test_by_node),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_no_places),
		cmocka_unit_test(test_hostile_placements),
		cmocka_unit_test(test_hostile_nodes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
