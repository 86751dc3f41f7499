// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame_counts.h"

#include <errno.h>
#include <stdlib.h>

#include "count.h"
#include "schema.h"

/* Of a slice: more are a lie. */
#define FRAMES_MAX 1e12

/* The counter and the thread of the process that began most. */
static const char counter_sql[] =
	"SELECT c.counter, c.thread FROM count c JOIN counter k ON k.id = c.counter"
	" AND k.name = '" COMM_COUNTER_FRAMES "' WHERE c.run = ?1"
	" GROUP BY c.thread ORDER BY sum(c.value) DESC, c.thread LIMIT 1";
static const char count_sql[] = "SELECT sum(value) FROM count WHERE run = ?1 AND slice = ?2"
				" AND counter = ?3 AND thread = ?4";

static int find_counter(sqlite3 *db, int64_t run, int64_t *ret_counter, int64_t *ret_thread)
{
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(db, counter_sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*ret_counter = sqlite3_column_int64(stmt, 0);
		*ret_thread = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	if (rc == SQLITE_ROW)
		return 0;
	return rc == SQLITE_DONE ? -ENODATA : comm_schema_errno(db);
}

static int load(sqlite3 *db, int64_t run, const struct comm_slices *slices, uint64_t *ret)
{
	int64_t counter = 0, thread = 0;
	sqlite3_stmt *stmt;
	int rc = SQLITE_ROW, code = find_counter(db, run, &counter, &thread);

	if (code)
		return code == -ENODATA ? 0 : code;
	if (sqlite3_prepare_v2(db, count_sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_int64(stmt, 3, counter);
	sqlite3_bind_int64(stmt, 4, thread);
	for (size_t i = 0; i < slices->n && rc == SQLITE_ROW; i++) {
		double n;

		sqlite3_bind_int64(stmt, 2, slices->slice[i].id);
		rc = sqlite3_step(stmt);
		n = rc == SQLITE_ROW ? sqlite3_column_double(stmt, 0) : 0;
		ret[i] = n > 0 && n < FRAMES_MAX ? (uint64_t)n : 0;
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : comm_schema_errno(db);
}

int comm_frame_counts_load(sqlite3 *db, int64_t run, const struct comm_slices *slices,
			   uint64_t **ret)
{
	uint64_t *began = calloc(slices->n + 1, sizeof(*began));
	int code = began ? load(db, run, slices, began) : -ENOMEM;

	if (code) {
		free(began);
		return code;
	}
	*ret = began;
	return 0;
}
