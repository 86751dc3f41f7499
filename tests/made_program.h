/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores of one program, and readers of them, for tests of groupings.  To be included once by a
 * test program.
 */
#ifndef TESTS_MADE_PROGRAM_H
#define TESTS_MADE_PROGRAM_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

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

static inline uint32_t thread(struct made_names *names, uint32_t tgid, uint32_t tid,
			      const char *name, uint64_t start_ns)
{
	uint32_t id = made_thread(names, tgid, tid, name);

	names->thread[id].start_ns = start_ns;
	return id;
}

static inline uint32_t stack(struct made_names *names, uint32_t tid, const char *name)
{
	uint32_t id = made_object(names, COMM_OBJECT_STACK, name, "", 8192);

	names->object[id].thread_tid = tid;
	return id;
}

static inline uint32_t generated(struct made_names *names)
{
	uint32_t id = made_function(names, "made_by_jit", "[jit]", 0);

	names->function[id].build_id = "";
	return id;
}

/* What line 1 and g read is of one structure. */
static inline void set_types(struct made_names *names, const struct made_ids *ids)
{
	names->site[ids->line_1].type = names->site[ids->line_3].type = "struct client";
	names->site[ids->line_1].field = "querybuf";
	names->site[ids->line_1].field_offset = 72;
	names->site[ids->line_3].field = "";
}

static inline struct made_ids make_names(struct made_names *names)
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

static inline struct made_ids make_unmarked_names(struct made_names *names)
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

static inline struct made_ids make_shuffled_names(struct made_names *names)
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

static inline struct comm_edge edge(uint32_t src, uint32_t src_site, uint32_t dst,
				    uint32_t dst_site, uint32_t object, double bytes,
				    uint32_t bursts)
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

static inline int make_store(struct made_store *made,
			     struct made_ids (*make)(struct made_names *names), bool with_cpus)
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
		/* The last two are of sites that no edge has; of 2 bytes nobody knows who read them. */
		const struct comm_unwritten_end ends[] = {{m.main, m.line_1, m.counter, 20, 10},
							  {m.worker_1, m.line_3, m.heap, 15, 5},
							  {m.worker_2, COMM_ID_OTHER, m.heap, 3, 1},
							  {m.worker_2, m.line_1, m.stack, 10, 4}};
		struct comm_slice_info info = {
			.start_ns = i * SECOND,
			.end_ns = (i + 1) * SECOND,
			.unwritten = {.bytes = 50, .first_bytes = 20, .end = ends, .n_ends = 4},
			.placement = placements,
			.n_placements = with_cpus ? 5 : 0};

		code = comm_store_write_slice(store, &info, sent, N_EDGES, &naming);
	}
	comm_store_close(store);
	free(names);
	return code ? code : comm_reader_open(made->path, &made->reader, &err);
}

static inline int setup(void **state)
{
	(void)state;
	return make_store(&plain, make_names, true) ||
	       make_store(&shuffled, make_shuffled_names, true) ||
	       make_store(&unplaced, make_names, false) ||
	       make_store(&unmarked, make_unmarked_names, false);
}

static inline int drop_store(struct made_store *made)
{
	comm_reader_close(made->reader);
	unlink(made->path);
	*strrchr(made->path, '/') = '\0';
	return rmdir(made->path);
}

static inline int teardown(void **state)
{
	(void)state;
	return drop_store(&plain) | drop_store(&shuffled) | drop_store(&unplaced) |
	       drop_store(&unmarked);
}

/* NULL: the run has nothing that the grouping needs. */
static inline struct comm_report *ask(struct comm_reader *reader, struct comm_query query)
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

static inline void check_near(const char *by, const char *what, double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
		fail_msg("by %s: %s is %.17g, not %.17g", by, what, value, expected);
}

/* Nothing is lost and nothing is counted twice. */
static inline void check_sums(const struct comm_report *report, const struct comm_report *by_thread)
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
			   report->folded_bytes + report->unwritten_bytes,
		   report->read_bytes);
	check_near(by, "all that is read", report->read_bytes, by_thread->read_bytes);
	check_near(by, "what is within threads", report->within_bytes,
		   by_thread->within_bytes + (report->by->across ? by_thread->self_bytes : 0));
}

static inline void check_nodes(const struct comm_report *report)
{
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *a = comm_report_node_at(report, i);

		assert_true(a->name && *a->name && a->kind_name && *a->kind_name);
		assert_non_null(a->key);
		/* Kinds are told apart by their keys, too. */
		assert_int_equal(strncmp(a->key, a->kind_name, strlen(a->kind_name)), 0);
		assert_true(a->module && a->build_id && a->source && a->inlined && a->object_kind);
		assert_true(a->other == (strstr(a->name, "(other)") != NULL));
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(a->id, comm_report_node_at(report, j)->id);
			assert_string_not_equal(a->key, comm_report_node_at(report, j)->key);
		}
	}
}

static inline const struct comm_node *by_key(const struct comm_report *report, const char *key)
{
	for (size_t i = 0; i < report->n_nodes; i++) {
		if (!strcmp(comm_report_node_at(report, i)->key, key))
			return comm_report_node_at(report, i);
	}
	return NULL;
}

static inline double between(const struct comm_report *report, const char *from, const char *to)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (!strcmp(comm_report_node_at(report, e->from)->key, from) &&
		    !strcmp(comm_report_node_at(report, e->to)->key, to))
			return e->bytes;
	}
	return 0;
}

#endif
