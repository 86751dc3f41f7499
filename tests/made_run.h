/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stored run of a few seconds, of three threads and two functions, and a reader of it, for tests of
 * what reports say.  To be included once by a test program.
 */
#ifndef TESTS_MADE_RUN_H
#define TESTS_MADE_RUN_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_names.h"
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

static inline struct comm_edge edge(uint32_t src, uint32_t dst, uint32_t src_site,
				    uint32_t dst_site, uint32_t object, double bytes,
				    uint32_t bursts)
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
static inline int setup(void **state)
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
	edges[1].watched_bytes = 150;
	edges[1].watched_variance = 2 * 75 * 75;

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

static inline int teardown(void **state)
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

static inline struct comm_report *ask(struct comm_query query)
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

static inline void no_data(struct comm_query query, const char *words)
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

static inline const struct comm_report_edge *find(const struct comm_report *report,
						  const char *from, const char *to)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (!strcmp(comm_report_node_at(report, e->from)->name, from) &&
		    !strcmp(comm_report_node_at(report, e->to)->name, to))
			return e;
	}
	return NULL;
}

#endif
