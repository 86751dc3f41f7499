// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Properties that all groupings share, checked for each grouping of the library, and
 * those that only a comparison of stores shows.
 */
#include <sqlite3.h>

#include "made_program.h"

/* As much as the report, once; where nodes are between others, at these and at the readers. */
static void check_unseen(const struct comm_report *report)
{
	double unwritten[2] = {0};
	const char *by = report->by->name;

	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);
		bool is_between = report->by->between && node->kind == COMM_NODE_OBJECT;

		unwritten[is_between] += node->unwritten_bytes;
	}
	assert_true(report->unwritten_bytes > 0);
	for (int i = 0; i <= report->by->between; i++)
		check_near(by, "what nobody was seen to write", unwritten[i],
			   report->unwritten_bytes);
}

static void test_every_grouping(void **state)
{
	const struct comm_grouping *const *groupings = comm_groupings();
	int n_answers = 0;

	(void)state;
	assert_string_equal(groupings[0]->name, "thread");
	for (size_t i = 0; groupings[i]; i++) {
		for (int options = 0; options < 16; options++) {
			struct comm_query query = {.self = options & 1,
						   .across = options & 2,
						   .first_read = options & 4,
						   .unwritten = options & 8};
			struct comm_report *by_thread = ask(plain.reader, query), *report;

			query.by = groupings[i]->name;
			report = ask(plain.reader, query);
			if (report) {
				assert_ptr_equal(report->by, groupings[i]);
				assert_true(report->n_edges > 0);
				check_sums(report, by_thread);
				check_nodes(report);
				if (query.unwritten)
					check_unseen(report);
				n_answers++;
			}
			comm_report_free(report);
			comm_report_free(by_thread);
		}
		assert_true(*groupings[i]->help && *groupings[i]->title && *groupings[i]->noun);
	}
	assert_true(n_answers >= 7 * 16);
}

/* The same program in another store: other rows, other tids, the same keys. */
static void test_keys(void **state)
{
	int n_moved = 0;

	(void)state;
	for (size_t i = 0; comm_groupings()[i]; i++) {
		struct comm_query query = {.by = comm_groupings()[i]->name, .self = true};
		struct comm_report *a = ask(plain.reader, query);
		struct comm_report *b = ask(shuffled.reader, query);
		bool moved = false;

		assert_true(!a == !b);
		if (!a)
			continue;
		assert_int_equal(a->n_nodes, b->n_nodes);
		for (size_t j = 0; j < a->n_nodes; j++) {
			const struct comm_node *here = comm_report_node_at(a, j);
			const struct comm_node *there = by_key(b, here->key);

			if (!there)
				fail_msg("by %s: the other store has no '%s'", query.by, here->key);
			check_near(here->key, "written", there->written_bytes, here->written_bytes);
			check_near(here->key, "read", there->read_bytes, here->read_bytes);
			moved |= strcmp(here->id, there->id) != 0;
		}
		n_moved += moved;
		comm_report_free(a);
		comm_report_free(b);
	}
	assert_true(n_moved >= 4);
}

/* As comm.h documents them: other programs may have stored keys. */
static void test_key_forms(void **state)
{
	static const struct {
		const char *by, *key;
	} expected[] = {
		{"thread", "thread worker#1"},
		{"thread", "thread worker#2"},
		/* The process of this worker started after the other one. */
		{"thread", "thread worker#3"},
		{"thread", "thread (other)"},
		{"function", "function b01d+0x100"},
		{"function", "function [jit]:made_by_jit"},
		{"function", "function [kernel]"},
		{"line", "line b01d+0x100 f.c:1"},
		{"line", "line b01d+0x100 f.c:2 inner at f.c:7"},
		{"object", "object static m.so:counter"},
		{"object", "object heap [heap]"},
		{"object", "object stack of thread worker#2"},
		{"object", "thread main#1"},
		{"process", "process main#1"},
		{"process", "process worker#1"},
		{"role", "role worker"},
	};
	struct comm_report *report;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		report = ask(shuffled.reader,
			     (struct comm_query){.by = expected[i].by, .self = true});
		if (!by_key(report, expected[i].key))
			fail_msg("by %s: no '%s'", expected[i].by, expected[i].key);
		comm_report_free(report);
	}
	report = ask(shuffled.reader, (struct comm_query){0});
	assert_int_equal(by_key(report, "thread worker#3")->tid, 990);
	assert_int_equal(by_key(report, "thread worker#2")->tid, 950);
	comm_report_free(report);
}

/* Which edge of by_thread an edge by several groupings, thread first, is a part of. */
static size_t whole_of(const struct comm_report *by_thread, const struct comm_report *joined,
		       const struct comm_report_edge *part)
{
	const struct comm_node *from = comm_report_node_at(joined, part->from);
	const struct comm_node *to = comm_report_node_at(joined, part->to);

	for (size_t i = 0; i < by_thread->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(by_thread, i);

		if (!strcmp(comm_report_node_at(by_thread, e->from)->id,
			    from->n_parts ? from->parts[0]->id : "t0") &&
		    !strcmp(comm_report_node_at(by_thread, e->to)->id,
			    to->n_parts ? to->parts[0]->id : "t0"))
			return i;
	}
	fail();
	return 0;
}

static void test_joined(void **state)
{
	static const char *const bys[] = {"thread,function", "thread,function,object",
					  "thread,function,line,object"};
	struct comm_report *by_thread = ask(plain.reader, (struct comm_query){.self = true});
	size_t n_same = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bys) / sizeof(*bys); i++) {
		struct comm_report *joined =
			ask(plain.reader, (struct comm_query){.by = bys[i], .self = true});
		double sum[16] = {0};

		check_sums(joined, by_thread);
		check_nodes(joined);
		for (size_t j = 0; j < joined->n_edges; j++) {
			const struct comm_report_edge *part = comm_report_edge_at(joined, j);
			size_t at = whole_of(by_thread, joined, part);
			const struct comm_report_edge *whole = comm_report_edge_at(by_thread, at);

			sum[at] += part->bytes;
			if (part->bytes != whole->bytes)
				continue;
			/* All of an edge is known as well as the edge, and no better. */
			check_near(bys[i], "the lower end", part->low, whole->low);
			check_near(bys[i], "the upper end", part->high, whole->high);
			assert_true(part->resolved == whole->resolved);
			n_same++;
		}
		for (size_t j = 0; j < by_thread->n_edges; j++)
			check_near(bys[i], "the sum of an edge's parts", sum[j],
				   comm_report_edge_at(by_thread, j)->bytes);
		comm_report_free(joined);
	}
	assert_true(n_same >= 9);
	comm_report_free(by_thread);
}

/* Code that stands for several is stated of no thread. */
static void test_joined_with_other(void **state)
{
	struct comm_report *report =
		ask(plain.reader, (struct comm_query){.by = "thread,function", .unwritten = 1});
	size_t n_others = 0;

	(void)state;
	check_nodes(report);
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);

		if (node->n_parts < 2 || !node->parts[1]->other)
			continue;
		assert_true(node->other);
		n_others++;
	}
	assert_true(n_others > 0);
	comm_report_free(report);
}

static void test_not_joined(void **state)
{
	static const char *const bys[] = {"thread,cpu", "thread,weekday", ",thread",
					  "thread,function,line,object,role"};

	(void)state;
	for (size_t i = 0; i < sizeof(bys) / sizeof(*bys); i++) {
		struct comm_query query = {.size = sizeof(query), .by = bys[i]};
		struct comm_report *report;
		char *err = NULL;

		assert_int_equal(comm_reader_report(plain.reader, &query, &report, &err), -EINVAL);
		assert_non_null(strstr(err, bys[i]));
		free(err);
	}
}

/* main and its two workers are one process, all workers one role. */
static void test_by_process_and_role(void **state)
{
	struct comm_report *report;
	const double other = 3 * 256, to_other = 3 * 64, folded = 3 * 16;

	(void)state;
	report = ask(plain.reader, (struct comm_query){.by = "process"});
	assert_int_equal(report->n_edges, 3);
	check_near("process", "in", between(report, "process worker#1", "process main#1"), other);
	check_near("process", "out", between(report, "process main#1", "process worker#1"),
		   to_other);
	check_near("process", "folded", between(report, "process main#1", "process (other)"),
		   folded);
	assert_string_equal(by_key(report, "process main#1")->name, "main/100");
	assert_int_equal(by_key(report, "process main#1")->tgid, 100);
	comm_report_free(report);
	report = ask(plain.reader, (struct comm_query){.by = "role"});
	assert_int_equal(report->n_edges, 4);
	check_near("role", "to workers", between(report, "role main", "role worker"),
		   3 * (5096 + 128));
	check_near("role", "from workers", between(report, "role worker", "role main"),
		   3 * 512 + other);
	check_near("role", "folded", between(report, "role main", "role (other)"), folded);
	check_near("role", "between workers", between(report, "role worker", "role worker"),
		   to_other);
	check_near("role", "of one worker's own", report->within_bytes, 3 * 2048);
	comm_report_free(report);
}

/* Bytes that threads read of a node between them. */
static double read_of(const struct comm_report *report, const char *key)
{
	for (size_t i = 0; i < report->n_nodes; i++)
		if (!strcmp(comm_report_node_at(report, i)->key, key))
			return comm_report_node_at(report, i)->read_bytes;
	fail_msg("there is no %s", key);
	return 0;
}

/* A byte counts once: for the region next to its end, or for that around all others. */
static void test_by_region(void **state)
{
	struct comm_query query = {.size = sizeof(query), .by = "region"};
	struct comm_report *report = ask(plain.reader, query);
	const double to_parse = 3 * (4096 + 1000 + 128);
	char *err = NULL;

	(void)state;
	assert_int_equal(report->n_edges, 5);
	check_near("region", "load to parse", between(report, "region load", "region parse"),
		   to_parse);
	check_near("region", "parse to load", between(report, "region parse", "region load"),
		   3 * 512);
	check_near("region", "into one", between(report, "region (no region)", "region parse"),
		   3 * 2048);
	check_near("region", "out of one", between(report, "region parse", "region (no region)"),
		   3 * 64);
	check_near("region", "folded", between(report, "region load", "region (other)"), 3 * 16);
	comm_report_free(report);
	report = ask(plain.reader, (struct comm_query){.by = "outermost"});
	assert_int_equal(report->n_edges, 4);
	check_near("outermost", "load to parse", between(report, "region load", "region parse"),
		   to_parse);
	check_near("outermost", "into one", between(report, "region (no region)", "region load"),
		   3 * 2048);
	check_near("outermost", "inside", report->self_bytes, 3 * (512 + 256));
	comm_report_free(report);
	report = ask(plain.reader, (struct comm_query){.by = "thread,region"});
	assert_true(report->n_edges > 5);
	comm_report_free(report);
	assert_int_equal(comm_reader_report(unmarked.reader, &query, &report, &err), -ENODATA);
	assert_non_null(strstr(err, "run 1 has no code regions"));
	free(err);
}

/* What was read, whoever wrote it by whichever name. */
static void test_by_type(void **state)
{
	struct comm_query query = {.size = sizeof(query), .by = "type"};
	struct comm_report *report = ask(plain.reader, query);
	char *err = NULL;

	(void)state;
	check_near("type", "field", read_of(report, "type struct client.querybuf"), 3 * 512);
	check_near("type", "all of it", read_of(report, "type struct client"),
		   3 * (4096 + 1000 + 128));
	comm_report_free(report);
	report = ask(plain.reader, (struct comm_query){.by = "struct"});
	check_near("struct", "both", read_of(report, "type struct client"),
		   3 * (4096 + 1000 + 128 + 512));
	comm_report_free(report);
	report = ask(plain.reader, (struct comm_query){.by = "thread,struct"});
	assert_true(report->n_edges > 2);
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);
		const struct comm_node *from = comm_report_node_at(report, e->from);
		const struct comm_node *to = comm_report_node_at(report, e->to);

		/* Both ends of an edge are at the same data. */
		if (!from->other && !to->other)
			assert_string_equal(from->parts[1]->name, to->parts[1]->name);
	}
	comm_report_free(report);
	assert_int_equal(comm_reader_report(unmarked.reader, &query, &report, &err), -ENODATA);
	assert_non_null(strstr(err, "run 1 knows no types"));
	assert_non_null(strstr(err, "-dbgsym"));
	free(err);
}

/* A function's nodes, one for each of its callers, are together the one by function. */
static void test_by_caller(void **state)
{
	static const char both[] = "function b01d+0x100",
			  from_g[] = "caller of b01d+0x100 b01d+0x200",
			  unknown[] = "caller of b01d+0x100 unknown";
	struct comm_query query = {.size = sizeof(query), .by = "caller", .self = true};
	struct comm_report *report = ask(plain.reader, query), *by_function;
	char *err = NULL;
	double sum;

	(void)state;
	check_near("caller", "of line 1", read_of(report, from_g), 3 * 512);
	sum = read_of(report, from_g) + read_of(report, unknown);
	for (size_t i = 0; i < report->n_nodes; i++)
		if (!strcmp(comm_report_node_at(report, i)->key, from_g))
			assert_string_equal(comm_report_node_at(report, i)->name, "f from g");
	comm_report_free(report);
	by_function = ask(plain.reader, (struct comm_query){.by = "function", .self = true});
	check_near("caller", "all of f", sum, read_of(by_function, both));
	comm_report_free(by_function);
	report = ask(plain.reader, (struct comm_query){.by = "thread,caller"});
	assert_true(report->n_edges > 2);
	comm_report_free(report);
	assert_int_equal(comm_reader_report(unmarked.reader, &query, &report, &err), -ENODATA);
	assert_non_null(strstr(err, "run 1 knows no callers"));
	free(err);
}

/* Parents that go round, and regions that are not there. */
static void test_hostile_regions(void **state)
{
	static const char damage[] = "UPDATE region SET parent = 3 WHERE id = 2;"
				     "UPDATE region SET parent = 2 WHERE id = 3;"
				     "UPDATE region SET name = X'01ff' WHERE id = 4;"
				     "UPDATE context SET region = 77 WHERE id = 2;"
				     "UPDATE context SET region = -1 WHERE id = 3";
	struct comm_query query = {.self = true};
	struct comm_report *by_thread, *report;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(shuffled.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, damage, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	by_thread = ask(shuffled.reader, query);
	for (int i = 0; i < 2; i++) {
		query.by = i ? "outermost" : "region";
		report = ask(shuffled.reader, query);
		check_sums(report, by_thread);
		check_nodes(report);
		comm_report_free(report);
	}
	comm_report_free(by_thread);
}

/* A grouping of others that cannot be opened: there is one sentence, and with sanitizers none leaks. */
static void test_damaged_meanwhile(void **state)
{
	struct comm_query query = {.size = sizeof(query), .by = "thread,type"};
	struct comm_report *report;
	sqlite3 *db;
	char *err = NULL;

	(void)state;
	assert_int_equal(sqlite3_open(shuffled.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE type", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(comm_reader_report(shuffled.reader, &query, &report, &err), -EUCLEAN);
	assert_non_null(strstr(err, "it is damaged"));
	free(err);
}

static void test_unknown(void **state)
{
	struct comm_query query = {.size = sizeof(query), .by = "weekday"};
	struct comm_report *report;
	char *err = NULL;

	(void)state;
	assert_int_equal(comm_reader_report(plain.reader, &query, &report, &err), -EINVAL);
	assert_non_null(strstr(err, "weekday"));
	free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_grouping),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_key_forms),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_joined_with_other),
		cmocka_unit_test(test_not_joined),
		cmocka_unit_test(test_by_process_and_role),
		cmocka_unit_test(test_by_region),
		cmocka_unit_test(test_by_type),
		cmocka_unit_test(test_by_caller),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hostile_regions),
		cmocka_unit_test(test_damaged_meanwhile),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
