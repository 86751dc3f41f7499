// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread_keys.h"

#include "schema.h"

/*
 * A program starts its processes, and threads within a process, in an order that recurs
 * in each run.  Threads that ran before the profiler came are seen in an arbitrary
 * order: these go by tid, which mostly grows.
 */
static const char ordinal_sql[] =
	"SELECT id, row_number() OVER (PARTITION BY name ORDER BY process_ns, tgid, start_ns, tid,"
	" id) FROM (SELECT id, tgid, tid, name, start_ns,"
	" min(start_ns) OVER (PARTITION BY tgid) AS process_ns FROM thread WHERE run = ?1)";
static const char tid_sql[] = "SELECT tid, max(id) FROM thread WHERE run = ?1 GROUP BY tid";
static const char name_sql[] = "SELECT name FROM thread WHERE run = ?1 AND id = ?2";

int comm_thread_keys_init(struct comm_thread_keys *keys, sqlite3 *db, int64_t run)
{
	int code = comm_id_map_load(&keys->ordinal, db, ordinal_sql, run);

	if (!code)
		code = comm_id_map_load(&keys->of_tid, db, tid_sql, run);
	if (!code && sqlite3_prepare_v2(db, name_sql, -1, &keys->name, NULL) != SQLITE_OK)
		code = comm_schema_errno(db);
	if (!code)
		sqlite3_bind_int64(keys->name, 1, run);
	return code;
}

void comm_thread_keys_deinit(struct comm_thread_keys *keys)
{
	comm_id_map_deinit(&keys->ordinal);
	comm_id_map_deinit(&keys->of_tid);
	sqlite3_finalize(keys->name);
	keys->name = NULL;
}

int comm_thread_keys_of_id(struct comm_thread_keys *keys, uint32_t id, struct comm_texts *texts,
			   const char **ret)
{
	uint32_t ordinal;
	int rc, code = comm_id_map_at(&keys->ordinal, id, &ordinal);

	if (code)
		return code;
	sqlite3_bind_int64(keys->name, 2, id);
	rc = sqlite3_step(keys->name);
	if (rc == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(keys->name, 0);

		*ret = comm_texts_format(texts, "%s#%u", name ? name : "", ordinal);
	} else if (rc == SQLITE_DONE) {
		*ret = "";
	} else {
		code = comm_schema_errno(sqlite3_db_handle(keys->name));
	}
	sqlite3_reset(keys->name);
	return code;
}

int comm_thread_keys_of_tid(struct comm_thread_keys *keys, uint32_t tid, struct comm_texts *texts,
			    const char **ret)
{
	uint32_t id;
	int code = comm_id_map_at(&keys->of_tid, tid, &id);

	return code ? code : comm_thread_keys_of_id(keys, id, texts, ret);
}
