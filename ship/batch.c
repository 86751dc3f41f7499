// SPDX-License-Identifier: GPL-2.0-or-later
#include "batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "census.h"
#include "ids.h"
#include "object_kind.h"
#include "own_stack.h"
#include "profile.h"
#include "schema.h"
#include "slices.h"
#include "uuid.h"

/* Columns of a row that are the same in the whole batch, and how long texts of a run may be. */
enum { TEXT_BYTES = 400, KIND_BYTES = 20, BUILD_ID_BYTES = 100, CAUSE_BYTES = 100 };

#define SECOND 1000000000ull
/* Minutes are wanted, with what a part sticks out; hours are not. */
#define WIDEST_NS (90 * SECOND)
/* How far the cover is looked at for one slice. */
#define WINDOW_NS (3600 * SECOND)
/*
 * A slice that no wider one has summed may still become a part of one: minutes are written when the next slice is, and
 * slices in which nothing was sampled may wait for half a minute.  Sending it too early would cost nothing but the wider one.
 */
#define SETTLED_NS (180 * SECOND)

#define ROLES                                                                                 \
	"role AS MATERIALIZED (SELECT id, tid, role || CASE WHEN tid = tgid AND"              \
	" max(tid <> tgid) OVER (PARTITION BY tgid, name) THEN ' (main)' ELSE '' END AS name" \
	" FROM thread WHERE run = ?1)"
/* A stack is called by its thread's number: of all threads of a role it is one. */
#define OBJECTS                                                                                 \
	"data AS MATERIALIZED (SELECT o.id, o.kind, CASE WHEN o.kind <> 4 THEN o.name"          \
	" WHEN r.name IS NULL THEN 'stack' ELSE 'stack of ' || r.name END AS name, o.module,"   \
	" o.build_id FROM object o LEFT JOIN (SELECT tid, min(name) AS name FROM role GROUP BY" \
	" tid) r ON r.tid = o.thread_tid WHERE o.run = ?1)"

_Static_assert(COMM_OBJECT_STACK == 4, "the number above");

/* Of two ends, by role, function and object: values, of which edges, and by what else; ?1 is the run, ?2 the slice. */
#define EDGES(values, which, and_by)                                                            \
	"WITH " ROLES ", " OBJECTS " SELECT w.name, wf.name, wf.module, wf.build_id, wf.start," \
	" r.name, rf.name, rf.module, rf.build_id, rf.start,"                                   \
	" o.kind, o.name, o.module, o.build_id, " values                                        \
	" FROM edge e LEFT JOIN role w ON w.id = e.src_thread LEFT JOIN role r ON r.id ="       \
	" e.dst_thread LEFT JOIN data o ON o.id = e.object"                                     \
	" LEFT JOIN context wc ON wc.id = e.src_context LEFT JOIN site ws ON ws.id = wc.site"   \
	" LEFT JOIN function wf ON wf.id = ws.function"                                         \
	" LEFT JOIN context rc ON rc.id = e.dst_context LEFT JOIN site rs ON rs.id = rc.site"   \
	" LEFT JOIN function rf ON rf.id = rs.function"                                         \
	" WHERE e.run = ?1 AND e.slice = ?2 AND " which                                         \
	" GROUP BY w.name, wf.id, r.name, rf.id, o.kind, o.name, o.module, o.build_id" and_by   \
	" ORDER BY w.name, wf.id, r.name, rf.id, o.kind, o.name, o.module, o.build_id" and_by

static const char flow_sql[] =
	EDGES("sum(e.bytes), sum(e.variance + e.drawn_variance), sum(e.first_bytes),"
	      " sum(e.first_variance), sum(e.bursts)",
	      "e.src_thread <> e.dst_thread AND e.bytes > 0", "");

/* Windows are so many as are worth what stands for the edge (Kish), as in reports of fresh data. */
static const char fresh_sql[] = EDGES(
	"sum(e.watched_bytes), sum(e.watched_variance), 0, 0,"
	" CAST(sum(CASE WHEN e.watched_variance > 0 THEN min(1e9, max(1, round(e.watched_bytes"
	" * e.watched_bytes / e.watched_variance))) ELSE 1 END) AS INTEGER),"
	" CASE WHEN e.src_thread = e.dst_thread THEN 'own' ELSE 'across' END",
	"e.watched_bytes > 0 AND (e.src_thread <> 0 OR e.dst_thread <> 0)" COMM_NO_OWN_STACK(
		"e", "dst_thread"),
	", e.src_thread = e.dst_thread");

/* Of the rows that were too many, whose threads nobody knows any more. */
static const char folded_sql[] =
	"SELECT sum(watched_bytes) FROM edge"
	" WHERE run = ?1 AND slice = ?2 AND src_thread = 0 AND dst_thread = 0";

_Static_assert(COMM_ID_OTHER == 0, "the number above");

/* As reports have them: rows that no commd writes are left out. */
static const char census_sql[] =
	"WITH " ROLES ", " OBJECTS " SELECT r.name, f.name, f.module, f.build_id, f.start,"
	" o.kind, o.name, o.module, o.build_id, sum(c.bytes), sum(c.squares), sum(c.words), c.class"
	" FROM census c LEFT JOIN role r ON r.id = c.thread LEFT JOIN data o ON o.id = c.object"
	" LEFT JOIN context x ON x.id = c.context LEFT JOIN site s ON s.id = x.site"
	" LEFT JOIN function f ON f.id = s.function WHERE c.run = ?1 AND c.slice = ?2"
	" AND c.class BETWEEN 0 AND 19 AND c.words > 0 AND c.bytes > 0 AND c.squares > "
	"0" COMM_NO_OWN_STACK(
		"c",
		"thread") " GROUP BY r.name, f.id, o.kind, o.name, o.module, o.build_id, c.class"
			  " ORDER BY r.name, f.id, o.kind, o.name, o.module, o.build_id, c.class";

_Static_assert(COMM_CENSUS_CLASSES == 20, "the number above");

static const char loss_sql[] =
	"SELECT cause, n FROM loss WHERE run = ?1 AND slice = ?2 ORDER BY cause";

static const char first_sql[] =
	"SELECT min(start_ns), (SELECT max(end_ns) FROM slice WHERE run = ?1)"
	" FROM slice WHERE run = ?1 AND start_ns >= ?2";

bool ship_is_uuid(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	_Static_assert(sizeof(form) == COMM_UUID_CHARS + 1, "as runs have them");
	for (size_t i = 0; i < COMM_UUID_CHARS; i++)
		if (!text[i] ||
		    (form[i] == '-' ? text[i] != '-' : !strchr("0123456789abcdef", text[i])))
			return false;
	return !text[COMM_UUID_CHARS];
}

char *ship_service_of(const struct comm_run *run)
{
	static const char group[] = "cgroup ";
	const char *pid = strstr(run->command, " (pid "), *slash = strrchr(run->command, '/');

	if (*run->label)
		return strdup(run->label);
	if (!strncmp(run->command, group, strlen(group)))
		return strdup(slash && slash[1] ? slash + 1 : run->command);
	return pid ? strndup(run->command, (size_t)(pid - run->command)) : strdup(run->command);
}

static const char *text_of(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

static const char *name_of(sqlite3_stmt *stmt, int column)
{
	const char *text = text_of(stmt, column);

	return *text ? text : "(other)";
}

/* What each row of a batch begins with. */
struct head {
	const char *uuid, *host, *service, *source;
	char t[40];
};

static void begin_row(struct ship_batch *batch, const struct head *head, const char *kind)
{
	ship_tsv_text(&batch->rows, kind, KIND_BYTES);
	ship_tsv_text(&batch->rows, head->t, sizeof(head->t));
	ship_tsv_text(&batch->rows, head->uuid, COMM_UUID_CHARS);
	ship_tsv_int(&batch->rows, (int64_t)batch->start_ns);
	ship_tsv_int(&batch->rows, (int64_t)batch->length_ns);
	ship_tsv_text(&batch->rows, head->host, TEXT_BYTES);
	ship_tsv_text(&batch->rows, head->service, TEXT_BYTES);
	ship_tsv_text(&batch->rows, head->source, TEXT_BYTES);
}

static void put_function(struct ship_tsv *rows, sqlite3_stmt *stmt, int column)
{
	ship_tsv_text(rows, name_of(stmt, column), TEXT_BYTES);
	ship_tsv_text(rows, name_of(stmt, column + 1), SHIP_NAME_BYTES);
	ship_tsv_text(rows, text_of(stmt, column + 2), SHIP_MODULE_BYTES);
	ship_tsv_text(rows, text_of(stmt, column + 3), BUILD_ID_BYTES);
	ship_tsv_int(rows, sqlite3_column_int64(stmt, column + 4));
}

static void put_no_function(struct ship_tsv *rows)
{
	for (int i = 0; i < 4; i++)
		ship_tsv_text(rows, "", 0);
	ship_tsv_int(rows, 0);
}

static void put_object(struct ship_tsv *rows, sqlite3_stmt *stmt, int column)
{
	ship_tsv_text(rows, comm_object_kind_name(sqlite3_column_int64(stmt, column)), KIND_BYTES);
	ship_tsv_text(rows, name_of(stmt, column + 1), SHIP_NAME_BYTES);
	ship_tsv_text(rows, text_of(stmt, column + 2), SHIP_MODULE_BYTES);
	ship_tsv_text(rows, text_of(stmt, column + 3), BUILD_ID_BYTES);
}

static void put_nothing(struct ship_tsv *rows)
{
	put_no_function(rows);
	put_no_function(rows);
	for (int i = 0; i < 4; i++)
		ship_tsv_text(rows, "", 0);
}

/* Bytes, variance, first_bytes, first_variance, samples. */
static void put_values(struct ship_tsv *rows, const double values[4], int64_t samples)
{
	for (int i = 0; i < 4; i++)
		ship_tsv_real(rows, values[i]);
	ship_tsv_int(rows, samples);
}

/* What is of the slice alone: a cause of loss, bytes without a writer, times. */
static void end_row(struct ship_tsv *rows, const char *cause, double unseen_bytes,
		    const int64_t times[3])
{
	ship_tsv_text(rows, cause, CAUSE_BYTES);
	ship_tsv_real(rows, unseen_bytes);
	for (int i = 0; i < 3; i++)
		ship_tsv_int(rows, times[i]);
	ship_tsv_end_row(rows);
}

static const int64_t no_times[3];

/* The columns of EDGES. */
static void put_edge(struct ship_batch *batch, const struct head *head, const char *kind,
		     sqlite3_stmt *stmt, const char *cause)
{
	struct ship_tsv *rows = &batch->rows;
	double values[4];

	begin_row(batch, head, kind);
	put_function(rows, stmt, 0);
	put_function(rows, stmt, 5);
	put_object(rows, stmt, 10);
	for (int i = 0; i < 4; i++)
		values[i] = sqlite3_column_double(stmt, 14 + i);
	put_values(rows, values, sqlite3_column_int64(stmt, 18));
	end_row(rows, cause, 0, no_times);
}

static void put_flow(struct ship_batch *batch, const struct head *head, sqlite3_stmt *stmt)
{
	put_edge(batch, head, "flow", stmt, "");
	batch->flows++;
}

static void put_fresh(struct ship_batch *batch, const struct head *head, sqlite3_stmt *stmt)
{
	put_edge(batch, head, "fresh", stmt, text_of(stmt, 19));
}

/* Of windows: what those stand for whose writer is not known, and how many there were in all. */
static void put_unknown(struct ship_batch *batch, const struct head *head,
			const struct comm_slices_one *slice, double folded_bytes)
{
	const double values[4] = {slice->unanswered_bytes + folded_bytes};

	if (!slice->watches)
		return;
	begin_row(batch, head, "fresh");
	put_nothing(&batch->rows);
	put_values(&batch->rows, values, (int64_t)slice->watches);
	end_row(&batch->rows, "unknown", 0, no_times);
}

/* "waits", "changed MS", "unchanged MS": by which look, or as of which. */
static void name_class(int class, char *ret, size_t capacity)
{
	bool is_quiet = class >= COMM_CENSUS_QUIET;
	int look = class - (is_quiet ? COMM_CENSUS_QUIET + 1 : COMM_CENSUS_CHANGED);

	if (class == COMM_CENSUS_WAITS)
		snprintf(ret, capacity, "waits");
	else
		snprintf(ret, capacity, "%s %llu", is_quiet ? "unchanged" : "changed",
			 look < 0 ? 0 : (unsigned long long)comm_census_lag_ns[look] / 1000000);
}

static void put_census(struct ship_batch *batch, const struct head *head, sqlite3_stmt *stmt)
{
	const double values[4] = {sqlite3_column_double(stmt, 9), sqlite3_column_double(stmt, 10)};
	char class[32];

	begin_row(batch, head, "census");
	put_no_function(&batch->rows);
	put_function(&batch->rows, stmt, 0);
	put_object(&batch->rows, stmt, 5);
	put_values(&batch->rows, values, sqlite3_column_int64(stmt, 11));
	name_class(sqlite3_column_int(stmt, 12), class, sizeof(class));
	end_row(&batch->rows, class, 0, no_times);
}

static void put_loss(struct ship_batch *batch, const struct head *head, sqlite3_stmt *stmt)
{
	static const double none[4];

	begin_row(batch, head, "loss");
	put_nothing(&batch->rows);
	put_values(&batch->rows, none, sqlite3_column_int64(stmt, 1));
	end_row(&batch->rows, text_of(stmt, 0), 0, no_times);
}

static void put_slice(struct ship_batch *batch, const struct head *head,
		      const struct comm_slices_one *slice)
{
	const double values[4] = {slice->crossing_bytes, 0, slice->crossing_first_bytes, 0};
	const int64_t times[3] = {(int64_t)slice->target_ns,
				  (int64_t)(slice->handler_ns + slice->daemon_ns),
				  (int64_t)batch->missing_ns};

	begin_row(batch, head, "slice");
	put_nothing(&batch->rows);
	put_values(&batch->rows, values, (int64_t)slice->samples);
	end_row(&batch->rows, "", slice->unwritten_bytes, times);
}

static int each_row(struct comm_reader *reader, const char *sql, int64_t run, int64_t slice,
		    void (*put)(struct ship_batch *, const struct head *, sqlite3_stmt *),
		    struct ship_batch *batch, const struct head *head)
{
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(reader->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_int64(stmt, 2, slice);
	if (sqlite3_bind_parameter_count(stmt) > 2)
		sqlite3_bind_int(stmt, 3, COMM_OBJECT_STACK);
	while (!batch->rows.err && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		put(batch, head, stmt);
	if (batch->rows.err)
		code = batch->rows.err;
	else if (rc != SQLITE_DONE)
		code = comm_schema_errno(reader->db);
	sqlite3_finalize(stmt);
	return code;
}

static int ask_real(struct comm_reader *reader, const char *sql, int64_t run, int64_t slice,
		    double *ret)
{
	sqlite3_stmt *stmt;
	int code = 0;

	if (sqlite3_prepare_v2(reader->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_int64(stmt, 2, slice);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*ret = sqlite3_column_double(stmt, 0);
	else
		code = comm_schema_errno(reader->db);
	sqlite3_finalize(stmt);
	return code;
}

/* "2026-11-30 06:33:00.000000", UTC; PostgreSQL keeps no more digits. */
static void time_text(int64_t unix_ns, char *ret, size_t capacity)
{
	time_t seconds = unix_ns / (int64_t)SECOND;
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(ret, capacity, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(ret + n, capacity - n, ".%06d", (int)(unix_ns % (int64_t)SECOND / 1000));
}

static int fill(struct comm_reader *reader, const struct comm_run *run,
		const struct comm_slices_one *slice, struct ship_batch *batch)
{
	char *service = ship_service_of(run);
	struct head head = {batch->uuid, run->host, service, run->source, ""};
	double folded_bytes = 0;
	int code = service ? 0 : -ENOMEM;

	time_text(batch->unix_ns, head.t, sizeof(head.t));
	if (!code) {
		put_slice(batch, &head, slice);
		code = each_row(reader, loss_sql, run->id, slice->id, put_loss, batch, &head);
	}
	if (!code)
		code = each_row(reader, flow_sql, run->id, slice->id, put_flow, batch, &head);
	if (!code)
		code = ask_real(reader, folded_sql, run->id, slice->id, &folded_bytes);
	if (!code) {
		put_unknown(batch, &head, slice, folded_bytes);
		code = each_row(reader, fresh_sql, run->id, slice->id, put_fresh, batch, &head);
	}
	if (!code)
		code = each_row(reader, census_sql, run->id, slice->id, put_census, batch, &head);
	if (!code)
		code = batch->rows.err;
	free(service);
	return code;
}

/* What a profile is made of, before it is made. */
static int measure(struct comm_reader *reader, const struct comm_run *run,
		   const struct comm_slices_one *slice, struct ship_batch *batch)
{
	static const struct head nothing = {"", "", "", "", ""};
	int code = each_row(reader, flow_sql, run->id, slice->id, put_flow, batch, &nothing);

	if (!code && batch->rows.n > SHIP_PROFILE_MAX)
		code = -EFBIG;
	ship_tsv_deinit(&batch->rows);
	return code;
}

/* The start of the run's first slice from a time on, and the end of its last; 1: there is none. */
static int look(struct comm_reader *reader, int64_t run, uint64_t from_ns, uint64_t *ret_start_ns,
		uint64_t *ret_end_ns)
{
	sqlite3_stmt *stmt;
	int rc, code = 1;

	if (sqlite3_prepare_v2(reader->db, first_sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_int64(stmt, 2, (int64_t)from_ns);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
		*ret_start_ns = (uint64_t)sqlite3_column_int64(stmt, 0);
		*ret_end_ns = (uint64_t)sqlite3_column_int64(stmt, 1);
		code = 0;
	} else if (rc != SQLITE_ROW) {
		code = comm_schema_errno(reader->db);
	}
	sqlite3_finalize(stmt);
	return code;
}

/* One that lasts no time would have the key of the next. */
static const struct comm_slices_one *choose(const struct comm_slices *slices, uint64_t from_ns)
{
	for (size_t i = 0; i < slices->n; i++) {
		const struct comm_slices_one *slice = &slices->slice[i];

		if (slice->taken && slice->start_ns >= from_ns && slice->end_ns > slice->start_ns)
			return slice;
	}
	return NULL;
}

/* mark_ns, from_ns: CLOCK_MONOTONIC, as the slices' times. */
static int next_of(struct comm_reader *reader, const struct comm_run *run, uint64_t mark_ns,
		   uint64_t from_ns, struct ship_batch *batch)
{
	const struct comm_slices_one *slice = NULL;
	struct comm_slices slices = {0};
	uint64_t start_ns = from_ns, end_ns = 0;
	int code = 0;

	/* A window may have nothing but what an earlier slice covers in part. */
	for (uint64_t at_ns = from_ns; !code && !slice; at_ns = start_ns + 1) {
		comm_slices_deinit(&slices);
		code = look(reader, run->id, at_ns, &start_ns, &end_ns);
		if (!code)
			code = comm_slices_load(reader->db, run->id, start_ns, start_ns + WINDOW_NS,
						WIDEST_NS, false, &slices);
		if (!code)
			slice = choose(&slices, from_ns);
	}
	if (code)
		return code;
	if (run->state == COMM_RUN_RUNNING && slice->leaf && slice->end_ns + SETTLED_NS > end_ns) {
		code = 1;
	} else {
		batch->start_ns = slice->start_ns - run->start_ns;
		batch->length_ns = slice->end_ns - slice->start_ns;
		batch->missing_ns = slice->start_ns - mark_ns;
		if (__builtin_add_overflow(run->start_unix_ns, batch->start_ns, &batch->unix_ns) ||
		    batch->unix_ns < 0)
			code = -EINVAL;
		else if (batch->as_profile)
			code = measure(reader, run, slice, batch);
		else
			code = fill(reader, run, slice, batch);
	}
	comm_slices_deinit(&slices);
	return code;
}

int ship_batch_next(struct comm_reader *reader, const struct comm_run *run, uint64_t mark_ns,
		    uint64_t from_ns, struct ship_batch *batch, char **err)
{
	int code = 0;

	*err = NULL;
	ship_tsv_clear(&batch->rows);
	free(batch->profile);
	batch->profile = NULL;
	batch->profile_bytes = 0;
	batch->flows = 0;
	free(batch->uuid);
	batch->uuid = strdup(run->uuid);
	if (!batch->uuid)
		code = -ENOMEM;
	else if (!ship_is_uuid(batch->uuid) || mark_ns > from_ns ||
		 __builtin_add_overflow(from_ns, run->start_ns, &from_ns) || from_ns > INT64_MAX)
		code = -EINVAL;
	if (!code)
		code = comm_reader_snapshot(reader);
	if (!code)
		code = next_of(reader, run, mark_ns + run->start_ns, from_ns, batch);
	comm_reader_release(reader);
	if (!code && batch->as_profile)
		code = ship_profile_make(reader, run, batch, err);
	if (*err)
		return code;
	if (code == -EFBIG)
		comm_reader_fail(err, code, "the slice of run %s at %.0f s takes more than %d MiB",
				 run->uuid, (double)batch->start_ns / 1e9,
				 (batch->as_profile ? SHIP_PROFILE_MAX : SHIP_TSV_MAX) >> 20);
	else if (code == -EINVAL)
		comm_reader_fail(err, code, "run %lld has no UUID, or no time that can be",
				 (long long)run->id);
	else if (code < 0)
		comm_reader_fail_db(reader, err, code);
	return code;
}

void ship_batch_deinit(struct ship_batch *batch)
{
	free(batch->uuid);
	free(batch->profile);
	free(batch->service);
	free(batch->host);
	ship_tsv_deinit(&batch->rows);
	memset(batch, 0, sizeof(*batch));
}
