// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-caller: functions with the function that called them, "memcpy from addReply": a node for
 * each pair.  What the caller was not told of is a node, too, so that all nodes of a function
 * sum up to its node by function.
 */
#include <errno.h>
#include <stdlib.h>

#include "edge_table.h"
#include "function_key.h"
#include "grouping.h"
#include "ids.h"
#include "schema.h"

struct called {
	struct comm_id_map callers;
	struct comm_edge_table pairs; /* of src_site, called by dst_site; a node is index and one */
	sqlite3_stmt *function;
};

int comm_grouping_need_callers(struct comm_grouping_use *use, char **err)
{
	return comm_grouping_need(
		use,
		"SELECT 1 FROM function WHERE EXISTS (SELECT 1 FROM edge WHERE run = ?1 AND"
		" (dst_context IN (SELECT id FROM context WHERE caller > 0) OR"
		" src_context IN (SELECT id FROM context WHERE caller > 0))) LIMIT 1",
		"knows no callers: they are recorded on request, by commd --callers", err);
}

static int caller_open(struct comm_grouping_use *use, char **err)
{
	struct called *called;
	int code = comm_grouping_need_callers(use, err);

	if (code)
		return code;
	called = use->state = calloc(1, sizeof(*called));
	if (!called)
		return -ENOMEM;
	if (sqlite3_prepare_v2(use->reader->db,
			       "SELECT name, module, build_id, start FROM function WHERE id = ?1",
			       -1, &called->function, NULL) != SQLITE_OK)
		return comm_schema_errno(use->reader->db);
	code = comm_id_map_ask(&use->map, use->reader->db,
			       "SELECT s.function FROM context c JOIN site s ON s.id = c.site"
			       " WHERE c.id = ?1");
	return code ? code
		    : comm_id_map_ask(
			      &called->callers, use->reader->db,
			      "SELECT k.function FROM context c JOIN call k ON k.id = c.caller"
			      " WHERE c.id = ?1");
}

static void caller_close(struct comm_grouping_use *use)
{
	struct called *called = use->state;

	if (!called)
		return;
	comm_id_map_deinit(&called->callers);
	comm_edge_table_deinit(&called->pairs);
	sqlite3_finalize(called->function);
	free(called);
}

static int caller_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	struct called *called = use->state;
	struct comm_edge *pair, key = {0};
	int code = comm_id_map_at(&use->map, end->context, &key.src_site);

	if (!code)
		code = comm_id_map_at(&called->callers, end->context, &key.dst_site);
	comm_shares_one(ret, COMM_ID_OTHER);
	if (code || key.src_site == COMM_ID_OTHER)
		return code;
	code = comm_edge_table_at(&called->pairs, &key, &pair);
	if (!code)
		comm_shares_one(ret, (uint32_t)(pair - called->pairs.edge + 1));
	return code;
}

/* Describes a function by node, and its key. */
static int function_of(struct comm_grouping_use *use, uint32_t function, struct comm_node *node,
		       const char **ret_key)
{
	sqlite3_stmt *row = ((const struct called *)use->state)->function;
	int rc, code = 0;

	sqlite3_bind_int64(row, 1, function);
	rc = sqlite3_step(row);
	node->name = "(unnamed)";
	if (rc == SQLITE_ROW) {
		node->name = comm_texts_keep(use->texts, row, 0);
		node->module = comm_texts_keep(use->texts, row, 1);
		node->build_id = comm_texts_keep(use->texts, row, 2);
		node->start = sqlite3_column_int64(row, 3);
	} else if (rc != SQLITE_DONE) {
		code = comm_schema_errno(use->reader->db);
	}
	sqlite3_reset(row);
	*ret_key = comm_function_key(use->texts, node);
	return code;
}

static int caller_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	const struct called *called = use->state;
	const struct comm_edge *pair = &called->pairs.edge[sqlite3_column_int64(row, 0) - 1];
	uint32_t function = pair->src_site, from = pair->dst_site;
	struct comm_node caller = {.module = "", .build_id = ""};
	const char *key, *caller_key;
	int code = function_of(use, function, node, &key);

	if (code)
		return code;
	node->other = comm_function_is_unknown(node);
	if (from == COMM_ID_OTHER) {
		node->key = comm_texts_format(use->texts, "caller of %s unknown", key);
		node->name = comm_texts_format(use->texts, "%s, caller unknown", node->name);
		return 0;
	}
	code = function_of(use, from, &caller, &caller_key);
	node->key = comm_texts_format(use->texts, "caller of %s %s", key, caller_key);
	node->name = comm_texts_format(use->texts, "%s from %s", node->name, caller.name);
	return code;
}

const struct comm_grouping_ops comm_grouping_caller = {
	.grouping = {.name = "caller",
		     .help = "Functions by the functions that called them",
		     .title = "functions, by caller",
		     .noun = "function",
		     .within = true},
	.kind = COMM_NODE_FUNCTION,
	.kind_name = "caller",
	.letter = 'k',
	.open = caller_open,
	.close = caller_close,
	.at = caller_at,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = caller_describe,
};
