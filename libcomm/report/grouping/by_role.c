// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-role: threads whose names differ in their number alone, as those of a pool.  A process's first
 * thread, which started them, is no part of a pool that has its name because nobody gave it another.
 */
#include <errno.h>
#include <stdlib.h>

#include "grouping.h"

/* Whether a thread is its process's first, and has the name of others of it. */
#define IS_MAIN "tid = tgid AND max(tid <> tgid) OVER (PARTITION BY tgid, name)"

static const char main_sql[] = "SELECT id, " IS_MAIN " FROM thread WHERE run = ?1";

/* A role has the id of its first thread. */
static const char first_sql[] =
	"SELECT id, min(id) OVER (PARTITION BY role, main) FROM"
	" (SELECT id, role, " IS_MAIN " AS main FROM thread WHERE run = ?1)";

static int role_open(struct comm_grouping_use *use, char **err)
{
	struct comm_id_map *main = calloc(1, sizeof(*main));
	int code;

	(void)err;
	use->state = main;
	if (!main)
		return -ENOMEM;
	code = comm_id_map_load(main, use->reader->db, main_sql, use->run->id);
	return code ? code : comm_id_map_load(&use->map, use->reader->db, first_sql, use->run->id);
}

static void role_close(struct comm_grouping_use *use)
{
	if (use->state)
		comm_id_map_deinit(use->state);
	free(use->state);
}

static int role_at(struct comm_grouping_use *use, const struct comm_end *end,
		   struct comm_shares *ret)
{
	uint32_t first;
	int code = comm_id_map_at(&use->map, end->thread, &first);

	if (!code)
		comm_shares_one(ret, first);
	return code;
}

static int role_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	uint32_t main;
	int code = comm_id_map_at(use->state, comm_id_column(row, 1), &main);

	node->name = comm_texts_keep(use->texts, row, 0);
	if (!code && main)
		node->name = comm_texts_format(use->texts, "%s (main)", node->name);
	return code;
}

const struct comm_grouping_ops comm_grouping_role = {
	.grouping = {.name = "role",
		     .help = "Threads of a pool as one: names without their number",
		     .title = "roles of threads",
		     .noun = "role",
		     .across = true,
		     .matrix = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "role",
	.letter = 'g',
	.open = role_open,
	.close = role_close,
	.at = role_at,
	.by_thread = true,
	.by_role = true,
	.sql = "SELECT role, id FROM thread WHERE run = ?1 AND id = ?2",
	.describe = role_describe,
};
