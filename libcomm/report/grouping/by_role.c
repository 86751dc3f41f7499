// SPDX-License-Identifier: GPL-2.0-or-later
/* --by-role: threads whose names differ in their number alone, as those of a pool. */
#include "grouping.h"

/* A role has the id of its first thread. */
static const char first_sql[] =
	"SELECT id, min(id) OVER (PARTITION BY role) FROM thread WHERE run = ?1";

static int role_open(struct comm_grouping_use *use, char **err)
{
	(void)err;
	return comm_id_map_load(&use->map, use->reader->db, first_sql, use->run->id);
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
	node->name = comm_texts_keep(use->texts, row, 0);
	return 0;
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
	.at = role_at,
	.by_thread = true,
	.sql = "SELECT role FROM thread WHERE run = ?1 AND id = ?2",
	.describe = role_describe,
};
