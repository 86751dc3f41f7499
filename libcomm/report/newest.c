// SPDX-License-Identifier: GPL-2.0-or-later
/* The newest run and slice of a store, for programs that follow a store being written. */
#include "reader.h"
#include "schema.h"

static int column_of(struct comm_reader *reader, const char *sql, int64_t run, int64_t *ret)
{
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(reader->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(reader->db);
	if (sqlite3_bind_parameter_count(stmt))
		sqlite3_bind_int64(stmt, 1, run);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : comm_schema_errno(reader->db);
}

/* Slices are merged into wider ones: the latest start is that of the newest, not the last id. */
int comm_reader_newest(struct comm_reader *reader, int64_t *ret_run, uint64_t *ret_end_ns,
		       uint64_t *ret_changes, char **err)
{
	int64_t run = 0, end_ns = 0, changes = 0;
	int code = comm_reader_snapshot(reader);

	if (err)
		*err = NULL;
	if (!code)
		code = column_of(reader, "SELECT max(id) FROM run", 0, &run);
	if (!code)
		code = column_of(reader,
				 "SELECT end_ns FROM slice WHERE run = ?1"
				 " ORDER BY start_ns DESC, level DESC LIMIT 1",
				 run, &end_ns);
	/* data_version is that of the snapshot, which began with the first lookup. */
	if (!code)
		code = column_of(reader, "PRAGMA data_version", 0, &changes);
	if (code) {
		comm_reader_fail_db(reader, err, code);
	} else {
		*ret_run = run;
		*ret_end_ns = end_ns;
		*ret_changes = changes;
	}
	comm_reader_release(reader);
	return code;
}
