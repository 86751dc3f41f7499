// SPDX-License-Identifier: GPL-2.0-or-later
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema.h"
#include "slices.h"
#include "store_file.h"

enum {
	READER_BUSY_MS = 2000,
	READER_RUNS_FIRST = 16,
	READER_ERROR_MAX = 100,
};

int comm_reader_fail(char **err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	if (vasprintf(err, format, args) < 0)
		*err = NULL;
	va_end(args);
	return code;
}

int comm_reader_fail_db(struct comm_reader *reader, char **err, int code)
{
	if (err)
		*err = comm_schema_sentence(reader->path, code, reader->db);
	return code;
}

static int open_db(struct comm_reader *reader, int *ret_version)
{
	static const char settings[] = "PRAGMA query_only = ON; PRAGMA cell_size_check = ON;"
				       "PRAGMA temp_store = MEMORY";
	int err;

	if (sqlite3_open_v2(reader->path, &reader->db,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    comm_guard_vfs()) != SQLITE_OK)
		return reader->db ? comm_schema_errno(reader->db) : -ENOMEM;
	sqlite3_busy_timeout(reader->db, READER_BUSY_MS);
	comm_guard_init(&reader->guard, reader->db);
	comm_guard_begin(&reader->guard, reader->path, 0);
	if (sqlite3_exec(reader->db, settings, NULL, NULL, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	err = comm_schema_version(reader->db, ret_version);
	return err ? err : comm_schema_check(reader->db, *ret_version);
}

int comm_reader_open(const char *path, struct comm_reader **ret, char **err)
{
	struct comm_reader *reader = calloc(1, sizeof(*reader));
	int code, version = 0;
	bool is_new = false;

	if (err)
		*err = NULL;
	if (!reader)
		return -ENOMEM;
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	code = reader->fd < 0 ? -errno : 0;
	reader->path = strdup(path);
	if (!reader->path)
		code = -ENOMEM;
	if (!code)
		code = comm_schema_probe(reader->fd, &is_new);
	if (!code && is_new)
		code = -EMEDIUMTYPE;
	if (!code)
		code = open_db(reader, &version);
	if (code)
		comm_reader_fail_db(reader, err, code);
	else if (version < COMM_SCHEMA_VERSION)
		code = comm_reader_fail(err, -EPROTO,
					"cannot use the store %s: its layout is an older one; "
					"commd --store brings it up to date",
					path);
	if (code) {
		comm_reader_close(reader);
		return code;
	}
	*ret = reader;
	return 0;
}

void comm_reader_close(struct comm_reader *reader)
{
	if (!reader)
		return;
	comm_kept_rows_deinit(&reader->kept);
	sqlite3_close(reader->db);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->path);
	free(reader);
}

uint64_t comm_reader_bytes(const struct comm_reader *reader)
{
	return comm_guard_bytes(reader->path);
}

/* Begins a read transaction: all statements of a call see one snapshot. */
int comm_reader_snapshot(struct comm_reader *reader)
{
	comm_guard_begin(&reader->guard, reader->path, 0);
	if (sqlite3_exec(reader->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return comm_schema_errno(reader->db);
}

void comm_reader_release(struct comm_reader *reader)
{
	if (!sqlite3_get_autocommit(reader->db))
		sqlite3_exec(reader->db, "ROLLBACK", NULL, NULL, NULL);
}

double comm_reader_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static const char *copy(sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	return strdup(text ? (const char *)text : "");
}

#define RUN_COLUMNS                                                                          \
	"id, source, event, estimator, command, host, notes, how, start_ns, end_ns, "        \
	"start_unix_ns, overhead_limit, granularity_bytes, deleted_ns, uuid, label, floor, " \
	"stall_ns, store_ns, overhead_least, stall_own_ns"

void comm_run_deinit(struct comm_run *run)
{
	free((char *)run->source);
	free((char *)run->event);
	free((char *)run->estimator);
	free((char *)run->command);
	free((char *)run->host);
	free((char *)run->notes);
	free((char *)run->how);
	free((char *)run->uuid);
	free((char *)run->label);
}

/* A time of the run.  A store may be hostile: none is before the clock's start. */
static uint64_t time_column(sqlite3_stmt *stmt, int column)
{
	int64_t ns = sqlite3_column_int64(stmt, column);

	return ns > 0 ? (uint64_t)ns : 0;
}

static int read_run(struct comm_reader *reader, sqlite3_stmt *stmt, struct comm_run *run)
{
	memset(run, 0, sizeof(*run));
	run->id = sqlite3_column_int64(stmt, 0);
	run->source = copy(stmt, 1);
	run->event = copy(stmt, 2);
	run->estimator = copy(stmt, 3);
	run->command = copy(stmt, 4);
	run->host = copy(stmt, 5);
	run->notes = copy(stmt, 6);
	run->how = copy(stmt, 7);
	run->start_ns = time_column(stmt, 8);
	run->start_unix_ns = sqlite3_column_int64(stmt, 10);
	run->overhead_limit = sqlite3_column_double(stmt, 11);
	run->granularity_bytes = sqlite3_column_int64(stmt, 12);
	run->deleted_ns = sqlite3_column_int64(stmt, 13);
	run->uuid = copy(stmt, 14);
	run->label = copy(stmt, 15);
	run->floor = sqlite3_column_double(stmt, 16);
	run->stall_ns = time_column(stmt, 17);
	run->store_ns = time_column(stmt, 18);
	run->overhead_least = sqlite3_column_double(stmt, 19);
	run->stall_own_ns = time_column(stmt, 20);
	run->end_ns = run->start_ns;
	run->state = COMM_RUN_FINISHED;
	if (sqlite3_column_type(stmt, 9) != SQLITE_NULL) {
		run->end_ns = time_column(stmt, 9);
	} else {
		run->state =
			comm_store_file_writer(reader->fd) ? COMM_RUN_RUNNING : COMM_RUN_UNFINISHED;
		free((char *)run->how);
		run->how = strdup(run->state == COMM_RUN_RUNNING ? "running" : "unfinished");
	}
	if (run->source && run->event && run->estimator && run->command && run->host &&
	    run->notes && run->how && run->uuid && run->label)
		return 0;
	comm_run_deinit(run);
	return -ENOMEM;
}

/* Adds to a run what its slices sum up to. */
int comm_reader_sum_run(struct comm_reader *reader, struct comm_run *run)
{
	struct comm_slices slices;
	int code;

	code = comm_slices_load(reader->db, run->id, 0, UINT64_MAX, UINT64_MAX, false, &slices);
	if (code)
		return code;
	for (size_t i = 0; i < slices.n; i++) {
		const struct comm_slices_one *slice = &slices.slice[i];

		run->edges += slice->edges;
		run->slices += slice->leaf;
		if (run->state != COMM_RUN_FINISHED && slice->end_ns > run->end_ns)
			run->end_ns = slice->end_ns;
		if (!slice->taken)
			continue;
		run->samples += slice->samples;
		run->bursts += slice->bursts;
		run->accesses += slice->accesses;
		run->handler_ns += slice->handler_ns;
		run->daemon_ns += slice->daemon_ns;
		run->daemon_idle_ns += slice->daemon_idle_ns;
		run->setup_ns += slice->setup_ns;
		run->target_ns += slice->target_ns;
	}
	if (run->end_ns < run->start_ns)
		run->end_ns = run->start_ns;
	run->overhead = comm_reader_share(run->handler_ns + run->daemon_ns, run->target_ns);
	comm_slices_deinit(&slices);
	return 0;
}

/* A field of the error model.  A store may be hostile: bounds its values. */
static double error_column(sqlite3_stmt *stmt, int column)
{
	double value = sqlite3_column_double(stmt, column);

	return value > 0 ? fmin(value, READER_ERROR_MAX) : 0;
}

int comm_reader_error_model(struct comm_reader *reader, int64_t run, struct comm_error_model *ret)
{
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(reader->db,
			       "SELECT sampled_ends, factor_sd, confusion_sd, doubt_sd FROM run"
			       " WHERE id = ?1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	sqlite3_bind_int64(stmt, 1, run);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = (struct comm_error_model){.sampled_ends = error_column(stmt, 0),
						 .factor_sd = error_column(stmt, 1),
						 .confusion_sd = error_column(stmt, 2),
						 .doubt_sd = error_column(stmt, 3)};
	else
		code = rc == SQLITE_DONE ? -EUCLEAN : comm_schema_errno(reader->db);
	sqlite3_finalize(stmt);
	return code;
}

static int add_run(struct comm_reader *reader, sqlite3_stmt *stmt, struct comm_runs *runs,
		   size_t *capacity)
{
	struct comm_run *grown;
	int code;

	if (runs->n == *capacity) {
		*capacity = *capacity ? 2 * *capacity : READER_RUNS_FIRST;
		grown = reallocarray(runs->run, *capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		runs->run = grown;
	}
	code = read_run(reader, stmt, &runs->run[runs->n]);
	/* Pages of a damaged file can have several parents: the same runs again and again. */
	if (!code && runs->n && runs->run[runs->n].id <= runs->run[runs->n - 1].id) {
		comm_run_deinit(&runs->run[runs->n]);
		return -EUCLEAN;
	}
	runs->n += !code;
	return code;
}

/* A store has one writer at a time: an older run without an end was cut off. */
static int end_older(struct comm_runs *runs)
{
	for (size_t i = 0; i + 1 < runs->n; i++) {
		struct comm_run *run = &runs->run[i];

		if (run->state != COMM_RUN_RUNNING)
			continue;
		free((char *)run->how);
		run->how = strdup("unfinished");
		if (!run->how)
			return -ENOMEM;
		run->state = COMM_RUN_UNFINISHED;
	}
	return 0;
}

int comm_reader_load_runs(struct comm_reader *reader, struct comm_runs **ret)
{
	struct comm_runs *runs = calloc(1, sizeof(*runs));
	size_t capacity = 0;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (!runs)
		return -ENOMEM;
	if (sqlite3_prepare_v2(reader->db, "SELECT " RUN_COLUMNS " FROM run ORDER BY id", -1, &stmt,
			       NULL) != SQLITE_OK) {
		code = comm_schema_errno(reader->db);
		goto out;
	}
	while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		code = add_run(reader, stmt, runs, &capacity);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(reader->db);
	sqlite3_finalize(stmt);
	if (!code)
		code = end_older(runs);
out:
	if (code)
		comm_runs_free(runs);
	else
		*ret = runs;
	return code;
}

int comm_reader_runs(struct comm_reader *reader, struct comm_runs **ret, char **err)
{
	struct comm_runs *runs = NULL;
	int code = comm_reader_snapshot(reader);

	if (err)
		*err = NULL;
	if (!code)
		code = comm_reader_load_runs(reader, &runs);
	for (size_t i = 0; !code && i < runs->n; i++)
		code = comm_reader_sum_run(reader, &runs->run[i]);
	if (code) {
		comm_runs_free(runs);
		comm_reader_fail_db(reader, err, code);
	} else {
		*ret = runs;
	}
	comm_reader_release(reader);
	return code;
}

void comm_runs_free(struct comm_runs *runs)
{
	if (!runs)
		return;
	for (size_t i = 0; i < runs->n; i++)
		comm_run_deinit(&runs->run[i]);
	free(runs->run);
	free(runs);
}

size_t comm_runs_count(const struct comm_runs *runs)
{
	return runs->n;
}

const struct comm_run *comm_runs_at(const struct comm_runs *runs, size_t i)
{
	return i < runs->n ? &runs->run[i] : NULL;
}
