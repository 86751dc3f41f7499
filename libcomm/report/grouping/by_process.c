// SPDX-License-Identifier: GPL-2.0-or-later
/* --by-process: all threads of a process as one, called as its main thread is, or by its title. */
#include <errno.h>
#include <stdlib.h>

#include "grouping.h"
#include "thread_keys.h"

/* A process has the id of its main thread, or of the first seen if that was never seen. */
#define MAIN_FIRST "OVER (PARTITION BY tgid ORDER BY tid <> tgid, start_ns, id)"

static const char main_sql[] =
	"SELECT id, first_value(id) " MAIN_FIRST " FROM thread WHERE run = ?1";
/* A process's number among those of its name, for its key, as for threads (thread_keys.c). */
static const char ordinal_sql[] =
	"SELECT id, row_number() OVER (PARTITION BY called ORDER BY start_ns, tgid)"
	" FROM (SELECT id," COMM_THREAD_KEYED
	"AS called, tgid, min(start_ns) OVER (PARTITION BY tgid) AS start_ns,"
	" row_number() " MAIN_FIRST " AS nth FROM thread WHERE run = ?1) WHERE nth = 1";

static int process_open(struct comm_grouping_use *use, char **err)
{
	int code;

	(void)err;
	use->state = calloc(1, sizeof(struct comm_id_map));
	if (!use->state)
		return -ENOMEM;
	code = comm_id_map_load(use->state, use->reader->db, ordinal_sql, use->run->id);
	return code ? code : comm_id_map_load(&use->map, use->reader->db, main_sql, use->run->id);
}

static void process_close(struct comm_grouping_use *use)
{
	if (use->state)
		comm_id_map_deinit(use->state);
	free(use->state);
}

static int process_at(struct comm_grouping_use *use, const struct comm_end *end,
		      struct comm_shares *ret)
{
	uint32_t main_thread;
	int code = comm_id_map_at(&use->map, end->thread, &main_thread);

	if (!code)
		comm_shares_one(ret, main_thread);
	return code;
}

static int process_describe(struct comm_grouping_use *use, sqlite3_stmt *row,
			    struct comm_node *node)
{
	const char *name = comm_texts_keep(use->texts, row, 0);
	uint32_t ordinal;
	int code = comm_id_map_at(use->state, comm_id_column(row, 2), &ordinal);

	if (code)
		return code;
	node->tgid = sqlite3_column_int64(row, 1);
	/* Many processes may have one name. */
	node->name = comm_texts_format(use->texts, "%s/%u", name, node->tgid);
	node->key = comm_texts_format(use->texts, "process %s#%u",
				      comm_texts_keep(use->texts, row, 3), ordinal);
	return 0;
}

const struct comm_grouping_ops comm_grouping_process = {
	.grouping = {.name = "process",
		     .help = "Processes",
		     .title = "processes",
		     .noun = "process",
		     .matrix = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "process",
	.letter = 'p',
	.open = process_open,
	.close = process_close,
	.at = process_at,
	.by_thread = true,
	.sql = "SELECT" COMM_THREAD_CALLED ", tgid, id," COMM_THREAD_KEYED
	       "FROM thread WHERE run = ?1 AND id = ?2",
	.describe = process_describe,
};
