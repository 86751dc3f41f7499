// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Properties that all groupings share, checked for each grouping of the library, and
 * those that only a comparison of stores shows.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "estimator.h"
#include "made_names.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL

enum { SLICES = 3 };

/* Stores of one program, whose ids, tids and order of arrival differ. */
struct made_store {
	char path[64];
	struct comm_reader *reader;
};

static struct made_store plain, shuffled, unplaced, unmarked;

struct made_ids {
	uint32_t main, worker_1, worker_2, numbered, other_process;
	uint32_t line_1, line_2, line_3, generated;
	uint32_t counter, heap, stack;
};

static uint32_t thread(struct made_names *names, uint32_t tgid, uint32_t tid, const char *name,
		       uint64_t start_ns)
{
	uint32_t id = made_thread(names, tgid, tid, name);

	names->thread[id].start_ns = start_ns;
	return id;
}

static uint32_t stack(struct made_names *names, uint32_t tid, const char *name)
{
	uint32_t id = made_object(names, COMM_OBJECT_STACK, name, "", 8192);

	names->object[id].thread_tid = tid;
	return id;
}

static uint32_t generated(struct made_names *names)
{
	uint32_t id = made_function(names, "made_by_jit", "[jit]", 0);

	names->function[id].build_id = "";
	return id;
}

/* What line 1 and g read is of one structure. */
static void set_types(struct made_names *names, const struct made_ids *ids)
{
	names->site[ids->line_1].type = names->site[ids->line_3].type = "struct client";
	names->site[ids->line_1].field = "querybuf";
	names->site[ids->line_1].field_offset = 72;
	names->site[ids->line_3].field = "";
}

static struct made_ids make_names(struct made_names *names)
{
	uint32_t f, g, j, load;
	struct made_ids ids;

	ids.main = thread(names, 100, 100, "main", 5);
	ids.worker_1 = thread(names, 100, 101, "worker", 10);
	ids.worker_2 = thread(names, 100, 102, "worker", 20);
	ids.numbered = thread(names, 100, 103, "worker-9", 30);
	ids.other_process = thread(names, 200, 200, "worker", 15);
	f = made_function(names, "f", "m.so", 0x100);
	g = made_function(names, "g", "m.so", 0x200);
	j = generated(names);
	ids.line_1 = made_site(names, f, "f.c", 1);
	ids.line_2 = made_site(names, f, "f.c", 2);
	names->site[ids.line_2].inlined = "inner";
	names->site[ids.line_2].call_source = "f.c";
	names->site[ids.line_2].call_line = 7;
	ids.line_3 = made_site(names, g, NULL, 0);
	ids.generated = made_site(names, j, NULL, 0);
	load = made_region(names, 0, "load");
	names->site[ids.line_1].region = load;
	names->site[ids.line_2].region = made_region(names, load, "parse");
	names->site[ids.line_3].region = made_region(names, 0, "parse");
	set_types(names, &ids);
	names->site[ids.line_1].caller = made_call(names, COMM_CALL_UNKNOWN, g);
	ids.counter = made_object(names, COMM_OBJECT_STATIC, "counter", "m.so", 8);
	ids.heap = made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 4096);
	ids.stack = stack(names, 102, "stack of worker/102");
	return ids;
}

static struct made_ids make_unmarked_names(struct made_names *names)
{
	struct made_ids ids = make_names(names);

	for (uint32_t i = 0; i < names->n_sites; i++)
		names->site[i].region = COMM_CODE_REGION_NONE;
	for (uint32_t i = 0; i < names->n_sites; i++) {
		names->site[i].type = NULL;
		names->site[i].caller = COMM_CALL_UNKNOWN;
	}
	return ids;
}

static struct made_ids make_shuffled_names(struct made_names *names)
{
	uint32_t f, g, j, load;
	struct made_ids ids;

	made_object(names, COMM_OBJECT_HEAP, "another", "", 64);
	thread(names, 900, 900, "bystander", 1);
	j = generated(names);
	g = made_function(names, "g", "m.so", 0x200);
	f = made_function(names, "f", "m.so", 0x100);
	ids.worker_2 = thread(names, 901, 950, "worker", 4020);
	ids.other_process = thread(names, 990, 990, "worker", 4015);
	ids.worker_1 = thread(names, 901, 960, "worker", 4010);
	ids.numbered = thread(names, 901, 903, "worker-9", 4030);
	ids.main = thread(names, 901, 901, "main", 4005);
	ids.generated = made_site(names, j, NULL, 0);
	ids.line_3 = made_site(names, g, NULL, 0);
	ids.line_2 = made_site(names, f, "f.c", 2);
	names->site[ids.line_2].inlined = "inner";
	names->site[ids.line_2].call_source = "f.c";
	names->site[ids.line_2].call_line = 7;
	ids.line_1 = made_site(names, f, "f.c", 1);
	names->site[ids.line_3].region = made_region(names, 0, "parse");
	load = made_region(names, 0, "load");
	names->site[ids.line_2].region = made_region(names, load, "parse");
	names->site[ids.line_1].region = load;
	set_types(names, &ids);
	names->site[ids.line_1].caller = made_call(names, COMM_CALL_UNKNOWN, g);
	ids.stack = stack(names, 950, "stack of worker/950");
	ids.heap = made_object(names, COMM_OBJECT_HEAP, "[heap]", "", 4096);
	ids.counter = made_object(names, COMM_OBJECT_STATIC, "counter", "m.so", 8);
	return ids;
}

static struct comm_edge edge(uint32_t src, uint32_t src_site, uint32_t dst, uint32_t dst_site,
			     uint32_t object, double bytes, uint32_t bursts)
{
	return (struct comm_edge){.src_thread = src,
				  .src_site = src_site,
				  .dst_thread = dst,
				  .dst_site = dst_site,
				  .object = object,
				  .bytes = bytes,
				  .variance = bytes,
				  .first_bytes = bytes / 8,
				  .first_variance = 1,
				  .bursts = bursts};
}

/* That src wrote it is no finding. */
static struct comm_edge guess(uint32_t src, uint32_t dst, uint32_t dst_site, uint32_t object)
{
	struct comm_edge ret = edge(src, COMM_ID_OTHER, dst, dst_site, object, 24, 1);

	ret.guess_bytes = ret.bytes;
	ret.guess_first_bytes = ret.first_bytes;
	ret.variance = ret.first_variance = 0;
	ret.level = COMM_LEVEL_OBJECT;
	return ret;
}

static int make_store(struct made_store *made, struct made_ids (*make)(struct made_names *names),
		      bool with_cpus)
{
	struct comm_store_config config = {.path = made->path,
					   .row_cap = 1000,
					   .detail_ns = 900 * SECOND,
					   .rollup_ns = 60 * SECOND};
	struct comm_run_info run = {.source = "test",
				    .event = "e",
				    .command = "c",
				    .numa = with_cpus ? "0:0,2;3:7" : NULL,
				    .error_model = &comm_est_hazard.error_model};
	struct made_names *names = made_names_create();
	struct made_ids m = make(names);
	const struct comm_edge edges[] = {
		edge(m.main, m.line_1, m.worker_1, m.line_3, m.counter, 4096, 8),
		edge(m.main, m.line_1, m.worker_2, m.line_3, m.heap, 1000, 6),
		edge(m.main, m.line_1, m.numbered, m.line_3, m.heap, 128, 6),
		edge(m.worker_1, m.line_2, m.main, m.line_1, m.counter, 512, 3),
		edge(m.worker_2, m.generated, m.worker_2, m.line_2, m.stack, 2048, 9),
		edge(m.other_process, m.generated, m.main, m.generated, m.heap, 256, 2),
		edge(m.worker_2, m.line_2, m.other_process, COMM_SITE_KERNEL, m.stack, 64, 1),
		edge(m.main, m.line_1, COMM_ID_OTHER, 0, 0, 16, 1),
		edge(COMM_ID_OTHER, 0, COMM_ID_OTHER, 0, 0, 32, 1),
		guess(m.worker_1, m.worker_2, m.line_2, m.heap),
	};
	enum { N_EDGES = sizeof(edges) / sizeof(*edges) };
	struct comm_naming naming = made_naming(names);
	struct comm_edge sent[N_EDGES];
	struct comm_store *store;
	char *err = NULL;
	int64_t id;
	int code;

	/* The thread that comes first gets the first row. */
	for (size_t i = 0; i < N_EDGES; i++)
		sent[i] = edges[made != &shuffled ? i : N_EDGES - 1 - i];
	strcpy(made->path, "/tmp/test_grouping.XXXXXX");
	if (!mkdtemp(made->path))
		return -1;
	strcat(made->path, "/s.db");
	code = comm_store_open(&config, &store, &err);
	if (!code)
		code = comm_store_begin_run(store, &run, &id);
	for (uint64_t i = 0; i < SLICES && !code; i++) {
		/* By thread; the other process was never sampled. */
		const struct comm_placement placements[] = {{m.main, 0, 3},
							    {m.main, 7, 1},
							    {m.worker_1, i ? 7 : 0, 5},
							    {m.worker_2, 2, 10},
							    {COMM_ID_OTHER, 5, 100}};
		/* The last is of a site that no edge has; of 5 bytes nobody knows who read them. */
		const struct comm_unwritten_end ends[] = {{m.main, m.line_1, m.counter, 20, 10},
							  {m.worker_1, m.line_3, m.heap, 15, 5},
							  {m.worker_2, m.line_1, m.stack, 10, 4}};
		struct comm_slice_info info = {
			.start_ns = i * SECOND,
			.end_ns = (i + 1) * SECOND,
			.unwritten = {.bytes = 50, .first_bytes = 20, .end = ends, .n_ends = 3},
			.placement = placements,
			.n_placements = with_cpus ? 5 : 0};

		code = comm_store_write_slice(store, &info, sent, N_EDGES, &naming);
	}
	comm_store_close(store);
	free(names);
	return code ? code : comm_reader_open(made->path, &made->reader, &err);
}

static int setup(void **state)
{
	(void)state;
	return make_store(&plain, make_names, true) ||
	       make_store(&shuffled, make_shuffled_names, true) ||
	       make_store(&unplaced, make_names, false) ||
	       make_store(&unmarked, make_unmarked_names, false);
}

static int drop_store(struct made_store *made)
{
	comm_reader_close(made->reader);
	unlink(made->path);
	*strrchr(made->path, '/') = '\0';
	return rmdir(made->path);
}

static int teardown(void **state)
{
	(void)state;
	return drop_store(&plain) | drop_store(&shuffled) | drop_store(&unplaced) |
	       drop_store(&unmarked);
}

/* NULL: the run has nothing that the grouping needs. */
static struct comm_report *ask(struct comm_reader *reader, struct comm_query query)
{
	struct comm_report *report = NULL;
	char *err = NULL;
	int code;

	query.size = sizeof(query);
	code = comm_reader_report(reader, &query, &report, &err);
	if (code == -ENODATA) {
		assert_true(err && *err);
		free(err);
		return NULL;
	}
	if (code)
		fail_msg("by %s: %s", query.by, err);
	return report;
}

static void check_near(const char *by, const char *what, double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
		fail_msg("by %s: %s is %.17g, not %.17g", by, what, value, expected);
}

/* Nothing is lost and nothing is counted twice. */
static void check_sums(const struct comm_report *report, const struct comm_report *by_thread)
{
	double edges = 0, written = 0, read = 0, expected = report->total_bytes;
	const char *by = report->by->name;

	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		edges += e->bytes;
		assert_true(e->low <= e->bytes && e->bytes <= e->high && e->low >= 0);
		assert_true(e->from < report->n_nodes && e->to < report->n_nodes);
	}
	for (size_t i = 0; i < report->n_nodes; i++) {
		written += comm_report_node_at(report, i)->written_bytes;
		read += comm_report_node_at(report, i)->read_bytes;
	}
	if (report->by->between)
		expected *= 2; /* bytes count twice: into the node between, and out of it */
	check_near(by, "the sum of edges", edges, expected);
	check_near(by, "what nodes write", written, expected);
	check_near(by, "what nodes read", read, expected);
	check_near(by, "all that is accounted for",
		   report->total_bytes + report->self_bytes + report->within_bytes +
			   report->folded_bytes + report->unwritten_bytes + report->guess_bytes,
		   report->read_bytes);
	check_near(by, "all that is read", report->read_bytes, by_thread->read_bytes);
	check_near(by, "what is within threads", report->within_bytes,
		   by_thread->within_bytes + (report->by->across ? by_thread->self_bytes : 0));
}

/* As much as the report, once; where nodes are between others, at these and at the readers. */
static void check_unseen(const struct comm_report *report)
{
	double unwritten[2] = {0}, guess[2] = {0};
	const char *by = report->by->name;

	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(report, i);
		bool is_between = report->by->between && node->kind == COMM_NODE_OBJECT;

		unwritten[is_between] += node->unwritten_bytes;
		guess[is_between] += node->guess_bytes;
	}
	assert_true(report->unwritten_bytes > 0 && report->guess_bytes > 0);
	for (int i = 0; i <= report->by->between; i++) {
		check_near(by, "what nobody was seen to write", unwritten[i],
			   report->unwritten_bytes);
		check_near(by, "what would be a guess", guess[i], report->guess_bytes);
	}
}

static void check_nodes(const struct comm_report *report)
{
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *a = comm_report_node_at(report, i);

		assert_true(a->name && *a->name && a->kind_name && *a->kind_name);
		assert_non_null(a->key);
		/* Kinds are told apart by their keys, too. */
		assert_int_equal(strncmp(a->key, a->kind_name, strlen(a->kind_name)), 0);
		assert_true(a->module && a->build_id && a->source && a->inlined && a->object_kind);
		assert_true(a->other == !strcmp(a->name, "(other)"));
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(a->id, comm_report_node_at(report, j)->id);
			assert_string_not_equal(a->key, comm_report_node_at(report, j)->key);
		}
	}
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

static const struct comm_node *by_key(const struct comm_report *report, const char *key)
{
	for (size_t i = 0; i < report->n_nodes; i++) {
		if (!strcmp(comm_report_node_at(report, i)->key, key))
			return comm_report_node_at(report, i);
	}
	return NULL;
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

static double between(const struct comm_report *report, const char *from, const char *to)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (!strcmp(comm_report_node_at(report, e->from)->key, from) &&
		    !strcmp(comm_report_node_at(report, e->to)->key, to))
			return e->bytes;
	}
	return 0;
}

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
		cmocka_unit_test(test_every_grouping),	cmocka_unit_test(test_keys),
		cmocka_unit_test(test_key_forms),	cmocka_unit_test(test_by_cpu),
		cmocka_unit_test(test_by_node),		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_not_joined),	cmocka_unit_test(test_places),
		cmocka_unit_test(test_no_places),	cmocka_unit_test(test_hostile_placements),
		cmocka_unit_test(test_hostile_nodes),	cmocka_unit_test(test_by_process_and_role),
		cmocka_unit_test(test_by_region),	cmocka_unit_test(test_by_type),
		cmocka_unit_test(test_by_caller),	cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hostile_regions),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
