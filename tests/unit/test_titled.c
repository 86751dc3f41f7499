// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes with a title (title.h) in a store, and in reports of it. */
#include "made_store.h"

enum { WRITER = 1, BACKEND, OTHER_BACKEND, OWN_NAME };

static struct comm_store *store;

static void set_thread(uint32_t id, uint32_t tgid, const char *name, const char *title)
{
	struct comm_thread *t = &names->thread[id];

	t->tgid = tgid;
	strcpy(t->name, name);
	memset(t->title, 0, sizeof(t->title));
	strcpy(t->title, title);
}

static void write_slice(int second)
{
	struct comm_edge edges[3] = {
		{.src_thread = WRITER, .dst_thread = BACKEND, .bytes = 100},
		{.src_thread = BACKEND, .dst_thread = OTHER_BACKEND, .bytes = 30},
		{.src_thread = OWN_NAME, .dst_thread = WRITER, .bytes = 8},
	};

	for (size_t i = 0; i < 3; i++) {
		edges[i].src_site = edges[i].dst_site = 2;
		edges[i].object = edges[i].bursts = 1;
	}
	edges[0].object = 2;
	assert_int_equal(write_at(store, second, edges, 3), 0);
}

static void make_store(void)
{
	struct comm_store_config c = config();

	set_thread(WRITER, 11, "postgres", "");
	set_thread(BACKEND, 12, "postgres", "");
	set_thread(OTHER_BACKEND, 13, "postgres", "postgres: bob shop [local]");
	set_thread(OWN_NAME, 11, "helper-7", "");
	names->object[2] = (struct comm_object){.kind = COMM_OBJECT_STACK,
						.name = "stack of postgres/11",
						.module = "",
						.build_id = "",
						.size_bytes = 4096,
						.thread_tid = 11,
						.tgid = 12};
	store = open_store(&c);
	begin(store);
	write_slice(0);
	/* What is told later is true of all of the run. */
	set_thread(WRITER, 11, "postgres", "postgres: walwriter");
	set_thread(BACKEND, 12, "postgres", "postgres: alice");
	write_slice(1);
	set_thread(BACKEND, 12, "postgres", "postgres: alice shop [local]");
	write_slice(2);
	assert_int_equal(comm_store_end_run(store, START + 3 * SECOND, "duration"), 0);
	comm_store_close(store);
}

static const struct comm_node *by_key(const struct comm_report *report, const char *key)
{
	for (size_t i = 0; i < report->n_nodes; i++)
		if (!strcmp(comm_report_node_at(report, i)->key, key))
			return comm_report_node_at(report, i);
	fail_msg("there is no %s", key);
	return NULL;
}

static void test_reports(void **state)
{
	struct comm_query q = {.size = sizeof(q)};
	struct comm_report *report;

	(void)state;
	make_store();
	report = report_of(&q);
	assert_int_equal(report->n_nodes, 4);
	assert_string_equal(by_key(report, "thread postgres: walwriter#1")->name,
			    "postgres: walwriter/10");
	/* Keys have no user's name, so that runs can be compared. */
	assert_string_equal(by_key(report, "thread postgres: backend#1")->name,
			    "postgres: alice shop [local]/11");
	assert_int_equal(by_key(report, "thread postgres: backend#2")->tgid, 13);
	assert_string_equal(by_key(report, "thread helper-7#1")->name, "helper-7");
	comm_report_free(report);
	q.by = "role";
	report = report_of(&q);
	assert_int_equal(report->n_nodes, 3);
	assert_true(by_key(report, "role postgres: backend")->read_bytes == 3 * 130);
	assert_true(by_key(report, "role postgres: walwriter")->written_bytes == 3 * 100);
	assert_string_equal(by_key(report, "role helper")->name, "helper");
	comm_report_free(report);
	q.by = "process";
	report = report_of(&q);
	assert_int_equal(report->n_nodes, 3);
	assert_string_equal(by_key(report, "process postgres: walwriter#1")->name,
			    "postgres: walwriter/11");
	assert_string_equal(by_key(report, "process postgres: backend#2")->name,
			    "postgres: bob shop [local]/13");
	comm_report_free(report);
}

/* Who started a pool has its name, where nobody gave it another, and is none of it. */
static void test_first_threads(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "role"};
	struct comm_report *report;

	(void)state;
	make_store();
	sql("UPDATE thread SET name = 'pool', role = 'pool', tgid = 10, tid = 9 + id WHERE id > 0");
	report = report_of(&q);
	assert_int_equal(report->n_nodes, 2);
	assert_true(by_key(report, "role pool (main)")->written_bytes == 3 * 100);
	assert_true(by_key(report, "role pool")->read_bytes == 3 * (100 + 30));
	comm_report_free(report);
	/* Processes of one thread each are a pool, too. */
	sql("UPDATE thread SET tgid = tid");
	report = report_of(&q);
	assert_int_equal(report->n_nodes, 1);
	assert_true(by_key(report, "role pool")->read_bytes == 3 * (100 + 30 + 8));
	comm_report_free(report);
}

/* It was met before its thread had its name. */
static void test_stack(void **state)
{
	static const char *const wanted[] = {"stack of postgres/11", "stack of postgres: alice*"};
	struct comm_query q = {.size = sizeof(q), .by = "object"};
	struct comm_report *report;

	(void)state;
	make_store();
	report = report_of(&q);
	assert_string_equal(by_key(report, "object stack of thread postgres: backend#1")->name,
			    "stack of postgres: alice shop [local]/11");
	comm_report_free(report);
	q.by = NULL;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		q.object = wanted[i];
		report = report_of(&q);
		assert_int_equal(report->n_edges, 1);
		assert_true(comm_report_edge_at(report, 0)->bytes == 300);
		comm_report_free(report);
	}
	/* A process that got the number of the thread later is not meant. */
	sql("UPDATE object SET tgid = 99 WHERE id = 2");
	q.by = "object";
	q.object = NULL;
	report = report_of(&q);
	assert_string_equal(by_key(report, "object stack of thread postgres: backend#1")->name,
			    "stack of postgres/11");
	comm_report_free(report);
}

/* By either name, with the number or without. */
static void test_threads_asked_for(void **state)
{
	static const char *const wanted[] = {
		"postgres: *walwriter",
		"postgres: walwriter",
		"postgres: walwriter/10",
		"10",
	};

	(void)state;
	make_store();
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct comm_query q = {.size = sizeof(q), .writer = wanted[i]};
		struct comm_report *report = report_of(&q);

		assert_int_equal(report->n_edges, 1);
		assert_true(comm_report_edge_at(report, 0)->bytes == 300);
		comm_report_free(report);
	}
	for (int i = 0; i < 2; i++) {
		struct comm_query q = {.size = sizeof(q), .writer = i ? "postgres" : "helper-7/13"};
		struct comm_report *report = report_of(&q);

		assert_int_equal(report->n_edges, i ? 2 : 1);
		comm_report_free(report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads_asked_for, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
