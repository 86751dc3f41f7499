// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels of runs, and their deletion, through comm.h. */
#include <errno.h>

#include "made_store.h"

enum { BATCHES = 300 }; /* slices: more than are deleted in one transaction */

static const char *const tables[] = {"edge",	  "slice",	   "loss",   "placement", "origin",
				     "cacheline", "cacheline_use", "thread", "object"};

static double rows_of(int run)
{
	double n = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char text[96];

		snprintf(text, sizeof(text), "SELECT count(*) FROM %s WHERE run = %d", tables[i],
			 run);
		n += query(text);
	}
	return n;
}

static double bytes_of(const struct comm_query *q)
{
	struct comm_report *report = report_of(q);
	double bytes = report->read_bytes;

	comm_report_free(report);
	return bytes;
}

static void test_delete(void **state)
{
	const struct comm_query second = {.size = sizeof(second), .run = 2, .self = true};
	double bytes;
	char *err;

	(void)state;
	make_finished(BATCHES);
	make_finished(5);
	bytes = bytes_of(&second);
	assert_true(rows_of(1) > BATCHES);
	assert_int_equal(comm_run_delete(path, 1, &err), 0);
	assert_true(rows_of(1) == 0);
	assert_true(query("SELECT group_concat(id) FROM run") == 2);
	assert_true(bytes_of(&second) == bytes);
	/* A number is not given twice: it may stand in somebody's notes. */
	make_finished(1);
	assert_true(query("SELECT max(id) FROM run") == 3);
	assert_int_equal(comm_run_delete(path, 1, &err), -ENODATA);
	assert_non_null(strstr(err, "has no run 1"));
	free(err);
	assert_int_equal(comm_run_delete(path, 1, NULL), -ENODATA);
}

static void test_label(void **state)
{
	static const char *const wrong[] = {"7", "-1", "a\nb", "\x7f"};
	struct comm_query q = {.size = sizeof(q), .label = "before"};
	struct comm_report *report;
	struct comm_reader *reader;
	char long_one[102], *err;

	(void)state;
	for (int i = 0; i < 3; i++)
		make_finished(1 + i);
	assert_int_equal(comm_run_label(path, 1, "before", &err), 0);
	assert_int_equal(comm_run_label(path, 2, "before", &err), 0);
	assert_int_equal(comm_run_label(path, 4, "before", &err), -ENODATA);
	free(err);
	/* The latest of that label. */
	report = report_of(&q);
	assert_int_equal(report->run->id, 2);
	assert_string_equal(report->run->label, "before");
	comm_report_free(report);
	assert_int_equal(comm_run_label(path, 2, "", &err), 0);
	report = report_of(&q);
	assert_int_equal(report->run->id, 1);
	comm_report_free(report);
	q.label = "after";
	assert_int_equal(comm_reader_open(path, &reader, NULL), 0);
	assert_int_equal(comm_reader_report(reader, &q, &report, &err), -ENODATA);
	assert_non_null(strstr(err, "no run labelled 'after'"));
	free(err);
	comm_reader_close(reader);
	memset(long_one, 'x', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	assert_int_equal(comm_run_label(path, 1, long_one, NULL), -EINVAL);
	assert_int_equal(comm_run_label(path, 1, long_one + 1, NULL), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(comm_run_label(path, 1, wrong[i], &err), -EINVAL);
		assert_non_null(strstr(err, "a label is"));
		free(err);
	}
}

/* A run that began with a label and is taken back leaves nothing. */
static void test_forget(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edges[10];
	struct comm_store *store;

	(void)state;
	make_finished(1);
	store = open_store(&c);
	assert_int_equal(comm_store_forget_run(store), -EINVAL);
	begin(store);
	fill(edges, 10, 1);
	assert_int_equal(write_at(store, 0, edges, 10), 0);
	assert_int_equal(comm_store_forget_run(store), 0);
	comm_store_close(store);
	assert_true(rows_of(2) == 0);
	assert_true(query("SELECT group_concat(id) FROM run") == 1);
}

static void test_refused(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	struct stat st;
	char *err;

	(void)state;
	assert_int_equal(comm_run_delete(path, 1, &err), -ENOENT);
	assert_non_null(strstr(err, "no such file"));
	free(err);
	assert_int_equal(stat(path, &st), -1);
	make_finished(1);
	store = open_store(&c);
	assert_int_equal(comm_run_delete(path, 1, &err), -EBUSY);
	assert_non_null(strstr(err, "is writing to it"));
	free(err);
	comm_store_close(store);
	assert_int_equal(comm_run_label(path, 1, "x", &err), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_delete),
		TEST(test_label),
		TEST(test_forget),
		TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
