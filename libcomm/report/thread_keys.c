// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread_keys.h"

#include "schema.h"

/*
 * A program starts its processes, and threads within a process, in an order that recurs
 * in each run.  Threads that ran before the profiler came are seen in an arbitrary
 * order: these go by tid, which mostly grows.
 */
static const char ordinal_sql[] =
	"SELECT id, row_number() OVER (PARTITION BY called ORDER BY process_ns, tgid, start_ns,"
	" tid, id) FROM (SELECT id, tgid, tid," COMM_THREAD_KEYED "AS called, start_ns,"
	" min(start_ns) OVER (PARTITION BY tgid) AS process_ns FROM thread WHERE run = ?1)";
static const char tid_sql[] = "SELECT tid, max(id) FROM thread WHERE run = ?1 GROUP BY tid";
static const char row_sql[] = "SELECT" COMM_THREAD_KEYED "," COMM_THREAD_CALLED ", tgid FROM thread"
			      " WHERE run = ?1 AND id = ?2";

int comm_thread_keys_init(struct comm_thread_keys *keys, sqlite3 *db, int64_t run)
{
	int code = comm_id_map_load(&keys->ordinal, db, ordinal_sql, run);

	if (!code)
		code = comm_id_map_load(&keys->of_tid, db, tid_sql, run);
	if (!code && sqlite3_prepare_v2(db, row_sql, -1, &keys->row, NULL) != SQLITE_OK)
		code = comm_schema_errno(db);
	if (!code)
		sqlite3_bind_int64(keys->row, 1, run);
	return code;
}

void comm_thread_keys_deinit(struct comm_thread_keys *keys)
{
	comm_id_map_deinit(&keys->ordinal);
	comm_id_map_deinit(&keys->of_tid);
	sqlite3_finalize(keys->row);
	keys->row = NULL;
}

/* A column of the thread's row; NULL: there is none, or it is of another process (0: of any). */
static int text_of(struct comm_thread_keys *keys, uint32_t id, int column, uint32_t tgid,
		   struct comm_texts *texts, const char **ret)
{
	int rc, code = 0;

	*ret = NULL;
	sqlite3_bind_int64(keys->row, 2, id);
	rc = sqlite3_step(keys->row);
	if (rc == SQLITE_ROW && (!tgid || sqlite3_column_int64(keys->row, 2) == tgid))
		*ret = comm_texts_keep(texts, keys->row, column);
	else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		code = comm_schema_errno(sqlite3_db_handle(keys->row));
	sqlite3_reset(keys->row);
	return code;
}

int comm_thread_keys_of_id(struct comm_thread_keys *keys, uint32_t id, struct comm_texts *texts,
			   const char **ret)
{
	const char *name;
	uint32_t ordinal;
	int code = comm_id_map_at(&keys->ordinal, id, &ordinal);

	if (!code)
		code = text_of(keys, id, 0, 0, texts, &name);
	if (!code)
		*ret = name ? comm_texts_format(texts, "%s#%u", name, ordinal) : "";
	return code;
}

int comm_thread_keys_of_tid(struct comm_thread_keys *keys, uint32_t tid, struct comm_texts *texts,
			    const char **ret)
{
	uint32_t id;
	int code = comm_id_map_at(&keys->of_tid, tid, &id);

	return code ? code : comm_thread_keys_of_id(keys, id, texts, ret);
}

int comm_thread_keys_called(struct comm_thread_keys *keys, uint32_t tgid, uint32_t tid,
			    struct comm_texts *texts, const char **ret)
{
	const char *name = NULL;
	uint32_t id;
	int code = comm_id_map_at(&keys->of_tid, tid, &id);

	if (!code)
		code = text_of(keys, id, 1, tgid, texts, &name);
	*ret = name ? name : "";
	return code;
}
