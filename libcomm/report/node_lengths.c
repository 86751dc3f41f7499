// SPDX-License-Identifier: GPL-2.0-or-later
#include "node_lengths.h"

#include "schema.h"

/* A run counts by one counter; a store may be hostile. */
static const char counter_sql[] = "SELECT min(counter) FROM length WHERE run = ?1";
static const char ends_sql[] = "SELECT ends FROM length WHERE run = ?1 AND slice = ?2"
			       " AND counter = ?3 ORDER BY part";
static const char unit_sql[] = "SELECT name FROM counter WHERE id = ?1";

/* Looks through the lengths of the whole run; *ret 0: it has none. */
static int find_counter(sqlite3 *db, int64_t run, int64_t *ret)
{
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(db, counter_sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : comm_schema_errno(db);
}

int comm_node_lengths_init(struct comm_node_lengths *lengths, const struct comm_query *query,
			   const struct comm_grouping_use *own, sqlite3 *db, int64_t run)
{
	int code;

	if (own->of_reads || own->of_data || query->fresh || query->thread || query->writer ||
	    query->function)
		return 0;
	code = find_counter(db, run, &lengths->counter);
	if (!code)
		code = comm_node_ends_init(&lengths->ends, db, run, ends_sql);
	if (!code)
		sqlite3_bind_int64(lengths->ends.ask, 3, lengths->counter);
	return code;
}

void comm_node_lengths_deinit(struct comm_node_lengths *lengths)
{
	comm_node_ends_deinit(&lengths->ends);
}

int comm_node_lengths_unit(struct comm_node_lengths *lengths, struct comm_texts *texts,
			   const char **ret)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	int rc;

	*ret = NULL;
	if (!lengths->ends.counted)
		return 0;
	db = sqlite3_db_handle(lengths->ends.ask);
	if (sqlite3_prepare_v2(db, unit_sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, lengths->counter);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = comm_texts_keep(texts, stmt, 0);
	lengths->ends.counted = *ret;
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : comm_schema_errno(db);
}
