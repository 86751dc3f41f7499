// SPDX-License-Identifier: GPL-2.0-or-later
/* --by-line: the lines of source code that wrote and read. */
#include "function_key.h"
#include "grouping.h"

static int line_open(struct comm_grouping_use *use, char **err)
{
	(void)err;
	return comm_id_map_ask(&use->map, use->reader->db,
			       "SELECT site FROM context WHERE id = ?1");
}

static int line_at(struct comm_grouping_use *use, const struct comm_end *end,
		   struct comm_shares *ret)
{
	uint32_t site;
	int code = comm_id_map_at(&use->map, end->context, &site);

	if (!code)
		comm_shares_one(ret, site);
	return code;
}

static int line_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	struct comm_texts *texts = use->texts;

	node->name = comm_texts_keep(texts, row, 0);
	node->module = comm_texts_keep(texts, row, 1);
	node->build_id = comm_texts_keep(texts, row, 2);
	node->start = sqlite3_column_int64(row, 3);
	node->source = comm_texts_keep(texts, row, 4);
	node->line = sqlite3_column_int64(row, 5);
	node->inlined = comm_texts_keep(texts, row, 6);
	node->call_source = comm_texts_keep(texts, row, 7);
	node->call_line = sqlite3_column_int64(row, 8);
	node->other = comm_function_is_unknown(node);
	node->key = comm_texts_format(texts, "line %s %s:%u%s%s", comm_function_key(texts, node),
				      node->source, node->line, *node->inlined ? " " : "",
				      node->inlined);
	if (*node->call_source)
		node->key = comm_texts_format(texts, "%s at %s:%u", node->key, node->call_source,
					      node->call_line);
	return 0;
}

const struct comm_grouping_ops comm_grouping_line = {
	.grouping = {.name = "line",
		     .help = "Source lines, also within a thread",
		     .title = "source lines",
		     .noun = "line",
		     .within = true},
	.kind = COMM_NODE_LINE,
	.kind_name = "line",
	.letter = 'l',
	.open = line_open,
	.at = line_at,
	.sql = "SELECT f.name, f.module, f.build_id, f.start, s.source, s.line, s.inlined,"
	       " s.call_source, s.call_line FROM site s JOIN function f ON f.id = s.function WHERE "
	       "?1 AND s.id = ?2",
	.describe = line_describe,
};
