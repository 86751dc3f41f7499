// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-type and --by-struct: the data between the threads that wrote and those that read it, by
 * the type of what the reading instruction reads; the former with its field.  Who writes it may
 * well go by another type, such as memcpy() by none.
 */
#include "grouping.h"

static const char any_sql[] =
	"SELECT 1 FROM type WHERE id > 1 AND EXISTS (SELECT 1 FROM edge WHERE run = ?1 AND"
	" dst_context IN (SELECT id FROM context WHERE type > 1)) LIMIT 1";

/* In two versions of a program a field may have two places: it is one node, the first. */
static const char field_sql[] =
	"SELECT (SELECT min(s.id) FROM type s WHERE s.name = t.name AND s.field = t.field)"
	" FROM context c JOIN type t ON t.id = c.type WHERE c.id = ?1 AND c.id > 0";

static const char struct_sql[] = "SELECT (SELECT min(s.id) FROM type s WHERE s.name = t.name)"
				 " FROM context c JOIN type t ON t.id = c.type"
				 " WHERE c.id = ?1 AND c.id > 0";

static int open_with(struct comm_grouping_use *use, const char *sql, char **err)
{
	int code = comm_grouping_need(
		use, any_sql,
		"knows no types: they come from debug information, which its programs (compile "
		"them with -g, or install their -dbgsym or -debuginfo packages) or its "
		"source did not have, and no object on a heap said what it is",
		err);

	return code ? code : comm_id_map_ask(&use->map, use->reader->db, sql);
}

static int type_open(struct comm_grouping_use *use, char **err)
{
	return open_with(use, field_sql, err);
}

static int struct_open(struct comm_grouping_use *use, char **err)
{
	return open_with(use, struct_sql, err);
}

static int type_at(struct comm_grouping_use *use, const struct comm_end *end,
		   struct comm_shares *ret)
{
	uint32_t node;
	int code = comm_id_map_at(&use->map, end->read, &node);

	if (!code)
		comm_shares_one(ret, node);
	return code;
}

static int type_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	node->name = comm_texts_keep(use->texts, row, 0);
	node->object_kind = "type";
	return 0;
}

const struct comm_grouping_ops comm_grouping_type = {
	.grouping = {.name = "type",
		     .help = "Threads and the types between them, with the field that is read",
		     .title = "threads, by type",
		     .noun = "thread",
		     .between = true},
	.kind = COMM_NODE_OBJECT,
	.kind_name = "type",
	.letter = 'y',
	.ends = &comm_grouping_thread,
	.open = type_open,
	.at = type_at,
	.of_reads = true,
	.sql = "SELECT name || CASE field WHEN '' THEN '' ELSE '.' || field END FROM type"
	       " WHERE ?1 AND id = ?2",
	.describe = type_describe,
};

const struct comm_grouping_ops comm_grouping_struct = {
	.grouping = {.name = "struct",
		     .help = "Threads and the types between them, without their fields",
		     .title = "threads, by type",
		     .noun = "thread",
		     .between = true},
	.kind = COMM_NODE_OBJECT,
	.kind_name = "type",
	.letter = 'u',
	.ends = &comm_grouping_thread,
	.open = struct_open,
	.at = type_at,
	.of_reads = true,
	.sql = "SELECT name FROM type WHERE ?1 AND id = ?2",
	.describe = type_describe,
};
