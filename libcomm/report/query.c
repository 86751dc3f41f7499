// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers a query: which run, which slices, which threads, and the scan of the rows. */
#include <comm/comm.h>

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "ids.h"
#include "interval.h"
#include "losses.h"
#include "places.h"
#include "reader.h"
#include "report.h"
#include "schema.h"
#include "slices.h"

enum {
	/* Room for "NAME/TID" of a thread. */
	COMM_LABEL = 64,
	/* A larger query->size is garbage: the program has not set it. */
	QUERY_SIZE_MAX = 4096,
};

/* A report in the making. */
struct work {
	struct comm_reader *reader;
	const struct comm_query *query;
	struct comm_report_whole *whole;
	struct comm_report *report; /* &whole->shown */
	struct comm_slices slices;
	struct comm_fold fold;
	uint8_t *wanted, *writers; /* threads of query->thread and ->writer, by id; NULL: all */
};

/* The number of runs if there is no such run. */
static size_t find_index(const struct comm_runs *runs, int64_t id, const char *label)
{
	for (size_t i = runs->n; i-- > 0;)
		if (id ? runs->run[i].id == id : !label || !strcmp(runs->run[i].label, label))
			return i;
	return runs->n;
}

static int find_run(struct work *work, char **err)
{
	struct comm_run *run = &work->whole->run;
	int64_t id = work->query->run;
	struct comm_runs *runs;
	size_t at;
	int code;

	code = comm_reader_load_runs(work->reader, &runs);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	if (!runs->n) {
		comm_runs_free(runs);
		return comm_reader_fail(err, -ENODATA, "the store %s holds no run yet",
					work->reader->path);
	}
	at = find_index(runs, id, work->query->label);
	if (at == runs->n && !id) {
		comm_runs_free(runs);
		return comm_reader_fail(err, -ENODATA, "the store %s has no run labelled '%s'",
					work->reader->path, work->query->label);
	}
	if (at == runs->n) {
		code = comm_reader_fail(
			err, -ENODATA, "the store %s has no run %lld; it has %lld to %lld",
			work->reader->path, (long long)id, (long long)runs->run[0].id,
			(long long)runs->run[at - 1].id);
		comm_runs_free(runs);
		return code;
	}
	*run = runs->run[at];
	memset(&runs->run[at], 0, sizeof(*run));
	comm_runs_free(runs);
	code = comm_reader_error_model(work->reader, run->id, &work->whole->error_model);
	work->report->exact = !code && comm_error_model_is_exact(&work->whole->error_model);
	work->report->factor = exp(work->whole->error_model.factor_sd);
	if (!code)
		code = comm_reader_sum_run(work->reader, run);
	return code ? comm_reader_fail_db(work->reader, err, code) : 0;
}

/* A relative time of the query as CLOCK_MONOTONIC, within the run. */
static uint64_t absolute(const struct comm_run *run, int64_t relative_ns, bool is_end)
{
	uint64_t length_ns = run->end_ns - run->start_ns;
	uint64_t back_ns = relative_ns < 0 ? -(uint64_t)relative_ns : 0;

	if (relative_ns < 0)
		return back_ns < length_ns ? run->end_ns - back_ns : run->start_ns;
	if ((is_end && !relative_ns) || (uint64_t)relative_ns > length_ns)
		return run->end_ns;
	return run->start_ns + relative_ns;
}

static int load_slices(struct work *work, char **err)
{
	struct comm_report *report = work->report;
	const struct comm_run *run = report->run;
	uint64_t from_ns = absolute(run, work->query->from_ns, false);
	uint64_t to_ns = absolute(run, work->query->to_ns, true);
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	int code;

	if (run->end_ns == run->start_ns)
		return comm_reader_fail(err, -ENODATA, "run %lld has stored nothing yet",
					(long long)run->id);
	if (from_ns >= to_ns)
		return comm_reader_fail(
			err, -ENODATA,
			"the range is empty: run %lld lasts %.1f s, and the range goes "
			"from %.1f s to %.1f s",
			(long long)run->id, (run->end_ns - run->start_ns) / 1e9,
			(from_ns - run->start_ns) / 1e9, (to_ns - run->start_ns) / 1e9);
	/* Enough slices to check the range against itself; all of them cost time. */
	code = comm_slices_load(work->reader->db, run->id, from_ns, to_ns,
				(to_ns - from_ns) / COMM_BLOCKS_MAX, &work->slices);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	work->whole->slices = calloc(work->slices.n + 1, sizeof(*work->whole->slices));
	if (!work->whole->slices)
		return comm_reader_fail_db(work->reader, err, -ENOMEM);
	for (size_t i = 0; i < work->slices.n; i++) {
		const struct comm_slices_one *s = &work->slices.slice[i];

		if (s->leaf)
			work->whole->slices[report->n_slices++] = (struct comm_report_slice){
				.start_ns = s->start_ns - run->start_ns,
				.end_ns = s->end_ns - run->start_ns,
				.bytes = work->query->first_read ? s->crossing_first_bytes
								 : s->crossing_bytes,
				.samples = s->samples,
			};
		if (!s->taken)
			continue;
		first_ns = s->start_ns < first_ns ? s->start_ns : first_ns;
		last_ns = s->end_ns > last_ns ? s->end_ns : last_ns;
		report->samples += s->samples;
		report->bursts += s->bursts;
		report->accesses += s->accesses;
		report->handler_ns += s->handler_ns;
		report->daemon_ns += s->daemon_ns;
		report->target_ns += s->target_ns;
	}
	if (!last_ns)
		return comm_reader_fail(
			err, -ENODATA, "run %lld has nothing stored from %.1f s to %.1f s%s",
			(long long)run->id, (from_ns - run->start_ns) / 1e9,
			(to_ns - run->start_ns) / 1e9,
			run->deleted_ns ? "; its oldest part was deleted for want of space" : "");
	report->from_ns = first_ns - run->start_ns;
	report->to_ns = last_ns - run->start_ns;
	report->overhead =
		comm_reader_share(report->handler_ns + report->daemon_ns, report->target_ns);
	if (run->overhead_limit > 0)
		report->overhead_allowed = fmax(
			run->overhead_limit,
			comm_reader_share(run->floor * (last_ns - first_ns), report->target_ns));
	return 0;
}

/* Marks, by id, the threads that are called so. */
static int find_threads(struct work *work, const char *want, uint8_t **ret, char **err)
{
	long long run = work->report->run->id;
	char number[16], label[COMM_LABEL];
	sqlite3_stmt *stmt;
	bool found = false;
	int rc, code = 0;

	if (!want)
		return 0;
	*ret = calloc(COMM_THREADS_MAX, 1);
	if (!*ret)
		return comm_reader_fail_db(work->reader, err, -ENOMEM);
	if (sqlite3_prepare_v2(work->reader->db, "SELECT id, tid, name FROM thread WHERE run = ?1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_reader_fail_db(work->reader, err, comm_schema_errno(work->reader->db));
	sqlite3_bind_int64(stmt, 1, run);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 2);
		uint64_t id = sqlite3_column_int64(stmt, 0);

		snprintf(number, sizeof(number), "%u", (uint32_t)sqlite3_column_int64(stmt, 1));
		/* Takes NAME/TID too, as reports tell threads of one name apart. */
		snprintf(label, sizeof(label), "%s/%s", text ? text : "", number);
		if (id < COMM_THREADS_MAX && (!strcmp(number, want) || !strcmp(label, want) ||
					      (text && !fnmatch(want, text, 0)))) {
			(*ret)[id] = 1;
			found = true;
		}
	}
	if (rc != SQLITE_DONE)
		code = comm_reader_fail_db(work->reader, err, comm_schema_errno(work->reader->db));
	sqlite3_finalize(stmt);
	if (!code && !found)
		code = comm_reader_fail(
			err, -ENODATA,
			"run %lld has no thread '%s'; \"commctl report\" shows what it has", run,
			want);
	return code;
}

static bool is_wanted(const struct work *work, const struct comm_edge *row)
{
	bool src = row->src_thread < COMM_THREADS_MAX, dst = row->dst_thread < COMM_THREADS_MAX;

	if (work->writers && !(src && work->writers[row->src_thread]))
		return false;
	return !work->wanted || (src && work->wanted[row->src_thread]) ||
	       (dst && work->wanted[row->dst_thread]);
}

static const char edges_sql[] =
	"SELECT src_thread, dst_thread, src_context, dst_context, object,"
	" bursts, level, bytes, variance, guess_bytes FROM edge WHERE run = ?1 AND slice = ?2";
static const char first_edges_sql[] =
	"SELECT src_thread, dst_thread, src_context, dst_context, object,"
	" bursts, level, first_bytes, first_variance, guess_first_bytes FROM edge"
	" WHERE run = ?1 AND slice = ?2";

static void read_row(sqlite3_stmt *stmt, struct comm_edge *row)
{
	row->src_thread = comm_id_column(stmt, 0);
	row->dst_thread = comm_id_column(stmt, 1);
	/* In edges of a store src_site and dst_site hold contexts (dictionary.h). */
	row->src_site = comm_id_column(stmt, 2);
	row->dst_site = comm_id_column(stmt, 3);
	row->object = comm_id_column(stmt, 4);
	row->bursts = sqlite3_column_int64(stmt, 5);
	row->level = sqlite3_column_int(stmt, 6);
	row->bytes = sqlite3_column_double(stmt, 7);
	row->variance = sqlite3_column_double(stmt, 8);
	row->guess_bytes = sqlite3_column_double(stmt, 9);
}

static int scan(struct work *work)
{
	sqlite3 *db = work->reader->db;
	struct comm_edge row = {0};
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db, work->query->first_read ? first_edges_sql : edges_sql, -1, &stmt,
			       NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, work->report->run->id);
	for (size_t i = 0; i < work->slices.n && !code; i++) {
		const struct comm_slices_one *slice = &work->slices.slice[i];

		if (!slice->taken)
			continue;
		code = comm_fold_slice(&work->fold, slice);
		sqlite3_bind_int64(stmt, 2, slice->id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			read_row(stmt, &row);
			code = comm_fold_row(&work->fold, &row, is_wanted(work, &row));
		}
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int build(struct work *work, char **err)
{
	struct comm_report *report = work->report;
	int code;

	code = comm_reader_snapshot(work->reader);
	if (code)
		return comm_reader_fail_db(work->reader, err, code);
	code = find_run(work, err);
	if (!code)
		code = comm_fold_init(&work->fold, work->query, work->reader, work->whole, err);
	if (!code && work->query->places)
		code = comm_places_check(&work->fold.own, err);
	if (!code)
		code = load_slices(work, err);
	if (!code)
		code = find_threads(work, work->query->thread, &work->wanted, err);
	if (!code)
		code = find_threads(work, work->query->writer, &work->writers, err);
	if (code)
		return code;
	code = scan(work);
	if (!code)
		code = comm_losses_load(work->reader->db, report->run->id, &work->slices,
					&work->whole->texts, &work->whole->losses,
					&report->n_losses);
	if (!code && work->query->places)
		code = comm_places_load(&work->fold.own, &work->slices, &work->whole->places,
					&report->n_places);
	if (!code)
		code = comm_fold_finish(&work->fold);
	if (!code && work->whole->texts.failed)
		code = -ENOMEM;
	return code ? comm_reader_fail_db(work->reader, err, code) : 0;
}

/* Fields are appended; a new one in former padding would not change the struct's size. */
_Static_assert(offsetof(struct comm_query, places) + sizeof(uint64_t) == sizeof(struct comm_query),
	       "struct comm_query ends in its last field");

/* Copies the query of a program older or newer than this library, as openat2(2) copies its. */
static int copy_query(const struct comm_query *theirs, struct comm_query *ret, char **err)
{
	size_t size = theirs->size < sizeof(*ret) ? theirs->size : sizeof(*ret);

	if (theirs->size < sizeof(theirs->size) || theirs->size > QUERY_SIZE_MAX)
		return comm_reader_fail(err, -EINVAL,
					"the size of struct comm_query is not set: begin with "
					"COMM_QUERY_INIT");
	for (size_t i = size; i < theirs->size; i++) {
		if (((const char *)theirs)[i])
			return comm_reader_fail(err, -E2BIG,
						"the program asks for what this libcommprof does "
						"not know yet; a newer one is needed");
	}
	memcpy(ret, theirs, size);
	return 0;
}

int comm_reader_report(struct comm_reader *reader, const struct comm_query *theirs,
		       struct comm_report **ret, char **err)
{
	struct comm_query query = {0};
	struct work work = {.reader = reader, .query = &query};
	int code;

	if (err)
		*err = NULL;
	code = copy_query(theirs, &query, err);
	if (code)
		return code;
	work.whole = comm_report_create();
	if (!work.whole)
		return -ENOMEM;
	work.report = &work.whole->shown;
	work.report->confidence =
		query.confidence > 0 && query.confidence < 1 ? query.confidence : 0.9;
	code = build(&work, err);
	comm_fold_deinit(&work.fold);
	comm_reader_release(reader);
	comm_slices_deinit(&work.slices);
	free(work.wanted);
	free(work.writers);
	if (code) {
		comm_report_free(work.report);
		return code;
	}
	*ret = work.report;
	return 0;
}
