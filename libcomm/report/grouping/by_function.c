// SPDX-License-Identifier: GPL-2.0-or-later
/* --by-function: the functions whose code wrote and read, inlined ones with their caller. */
#include "function_key.h"
#include "grouping.h"

static int function_open(struct comm_grouping_use *use, char **err)
{
	(void)err;
	return comm_id_map_ask(&use->map, use->reader->db,
			       "SELECT s.function FROM context c JOIN site s ON s.id = c.site"
			       " WHERE c.id = ?1");
}

static int function_at(struct comm_grouping_use *use, const struct comm_end *end,
		       struct comm_shares *ret)
{
	uint32_t function;
	int code = comm_id_map_at(&use->map, end->context, &function);

	if (!code)
		comm_shares_one(ret, function);
	return code;
}

static int function_describe(struct comm_grouping_use *use, sqlite3_stmt *row,
			     struct comm_node *node)
{
	node->name = comm_texts_keep(use->texts, row, 0);
	node->module = comm_texts_keep(use->texts, row, 1);
	node->build_id = comm_texts_keep(use->texts, row, 2);
	node->start = sqlite3_column_int64(row, 3);
	node->other = comm_function_is_unknown(node);
	node->key =
		comm_texts_format(use->texts, "function %s", comm_function_key(use->texts, node));
	return 0;
}

const struct comm_grouping_ops comm_grouping_function = {
	.grouping = {.name = "function",
		     .help = "Functions, also within a thread",
		     .title = "functions",
		     .noun = "function",
		     .within = true},
	.kind = COMM_NODE_FUNCTION,
	.kind_name = "function",
	.letter = 'f',
	.open = function_open,
	.at = function_at,
	.sql = "SELECT name, module, build_id, start FROM function WHERE ?1 AND id = ?2",
	.describe = function_describe,
};
