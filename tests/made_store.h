/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store in a directory of its own for each test, with functions for tests of the
 * store: to write runs and slices of made-up edges, and to read reports and SQL
 * results.  To be included once by a test program.
 */
#ifndef TESTS_MADE_STORE_H
#define TESTS_MADE_STORE_H

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "estimator.h"
#include "made_names.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL
#define START (1000 * SECOND)

static char dir[64];
static char path[128];
static struct made_names *names;

static inline int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

static inline int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	chmod(dir, 0777);
	snprintf(path, sizeof(path), "%s/comm.db", dir);
	names = made_names_create();
	for (int i = 0; i < 40; i++) {
		made_thread(names, 10, 10 + i, "worker");
		made_function(names, "function", "program", 0x1000 + 16 * i);
		made_site(names, 2 + i, "file.c", i);
		made_object(names, COMM_OBJECT_STATIC, "object", "program", 8);
	}
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	free(names);
	/* A test that failed may have left its file system mounted. */
	umount2(dir, MNT_DETACH);
	return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline struct comm_store_config config(void)
{
	return (struct comm_store_config){
		.path = path, .row_cap = 1000, .detail_ns = 900 * SECOND, .rollup_ns = 60 * SECOND};
}

static inline struct comm_store *open_store(const struct comm_store_config *c)
{
	struct comm_store *store = NULL;
	char *err = NULL;
	int code = comm_store_open(c, &store, &err);

	if (code)
		print_error("%s\n", err);
	assert_int_equal(code, 0);
	return store;
}

static inline void refuse(int expected, const char *words)
{
	struct comm_store_config c = config();
	struct comm_store *store = NULL;
	char *err = NULL;

	assert_int_equal(comm_store_open(&c, &store, &err), expected);
	assert_non_null(err);
	if (!strstr(err, words) || !strstr(err, path))
		fail_msg("the sentence is: %s", err);
	free(err);
}

static inline int64_t begin(struct comm_store *store)
{
	struct comm_run_info info = {.source = "test",
				     .event = "none",
				     .estimator = "none",
				     .error_model = &comm_est_hazard.error_model,
				     .command = "program",
				     .host = "host",
				     .start_ns = START,
				     .start_unix_ns = 1,
				     .notes = ""};
	int64_t run = 0;

	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	return run;
}

static inline int write_at(struct comm_store *store, int second, const struct comm_edge *edges,
			   size_t n)
{
	struct comm_slice_info info = {.start_ns = START + second * SECOND,
				       .end_ns = START + (second + 1) * SECOND,
				       .samples = 10,
				       .bursts = 5,
				       .target_ns = SECOND,
				       .handler_ns = 1000,
				       .unwritten = {.bytes = 7, .first_bytes = 3},
				       .watched = {.watches = 2, .unanswered_bytes = 7},
				       .loss = {[COMM_LOSS_LATE] = 2}};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, edges, n, &naming);
}

/* n edges with different keys and whole numbers of bytes, so that sums are exact. */
static inline double fill(struct comm_edge *edges, size_t n, uint64_t seed)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = (i + 1) * 2654435761ULL + seed * 40503;

		edges[i] = (struct comm_edge){.src_thread = 1 + i % 8,
					      .dst_thread = 1 + i / 8 % 8,
					      .src_site = 2 + i / 64 % 20,
					      .dst_site = 2 + i / 1280 % 20,
					      .object = 1,
					      .bursts = 1,
					      .bytes = 1 + x % 100000,
					      .variance = 1 + x % 1000,
					      .first_bytes = x % 100,
					      .first_variance = x % 10};
		sum += edges[i].bytes;
	}
	return sum;
}

static inline double query(const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	double value;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static inline struct comm_report *report_of(const struct comm_query *q)
{
	struct comm_report *report = NULL;
	struct comm_reader *reader;
	char *err;
	int code;

	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	code = comm_reader_report(reader, q, &report, &err);
	if (code)
		print_error("%s\n", err);
	assert_int_equal(code, 0);
	comm_reader_close(reader);
	return report;
}

/* All bytes that the reader counts in a run. */
static inline double read_bytes(void)
{
	struct comm_query q = {.size = sizeof(q), .self = true};
	struct comm_report *report = report_of(&q);
	double bytes = report->read_bytes - report->unwritten_bytes;

	comm_report_free(report);
	return bytes;
}

static inline mode_t mode_of(const char *suffix)
{
	struct stat st;
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &st) < 0 ? 0 : st.st_mode & 07777;
}

static inline void sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static inline void make_finished(int slices)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[500];

	begin(store);
	for (int i = 0; i < slices; i++) {
		fill(edges, 500, i);
		assert_int_equal(write_at(store, i, edges, 500), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + slices * SECOND, "duration"), 0);
	comm_store_close(store);
}

#endif
