// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-path: functions with all functions that were under way around them, "memcpy from addReply
 * from main": a node for each path.  Paths are within each other, so that totals.h makes a
 * call tree of them.  A path whose outer part no stack told is within "(callers unknown)".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge_table.h"
#include "grouping.h"
#include "ids.h"

/* src_site of the path that stands for all callers that are not known. */
enum { UNKNOWN_CALLERS = -1 };

struct path {
	struct comm_grouping_use functions;
	struct comm_id_map caller, called, parent; /* the call of a context; of a call */
	struct comm_edge_table nodes; /* of src_site, called in dst_site; a node is index and one */
	struct comm_node **frame;     /* functions described already, by id; the report's */
	size_t n_frames;
	struct comm_node *unknown;
};

static int path_open(struct comm_grouping_use *use, char **err)
{
	sqlite3 *db = use->reader->db;
	struct path *path;
	int code = comm_grouping_need_callers(use, err);

	if (code)
		return code;
	path = use->state = calloc(1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	code = comm_grouping_open(&path->functions, &comm_grouping_function, "function", 0,
				  use->reader, use->run, use->texts, err);
	if (!code)
		code = comm_id_map_ask(&path->caller, db,
				       "SELECT caller FROM context WHERE id = ?1");
	if (!code)
		code = comm_id_map_ask(&path->called, db,
				       "SELECT function FROM call WHERE id = ?1");
	if (!code)
		code = comm_id_map_ask(&path->parent, db, "SELECT parent FROM call WHERE id = ?1");
	return code;
}

static void path_close(struct comm_grouping_use *use)
{
	struct path *path = use->state;

	if (!path)
		return;
	comm_grouping_close(&path->functions);
	comm_id_map_deinit(&path->caller);
	comm_id_map_deinit(&path->called);
	comm_id_map_deinit(&path->parent);
	comm_edge_table_deinit(&path->nodes);
	free(path->frame);
	free(path);
}

static int node_of(struct path *path, uint32_t function, uint32_t call, uint32_t *ret)
{
	struct comm_edge *cell, key = {.src_site = function, .dst_site = call};
	int code = comm_edge_table_at(&path->nodes, &key, &cell);

	if (!code)
		*ret = (uint32_t)(cell - path->nodes.edge + 1);
	return code;
}

static int path_at(struct comm_grouping_use *use, const struct comm_end *end,
		   struct comm_shares *ret)
{
	struct path *path = use->state;
	uint32_t call, node = COMM_ID_OTHER;
	int code = path->functions.ops->at(&path->functions, end, ret);

	if (code || ret->share->id == COMM_ID_OTHER)
		return code;
	code = comm_id_map_at(&path->caller, end->context, &call);
	if (!code)
		code = node_of(path, ret->share->id, call, &node);
	comm_shares_one(ret, node);
	return code;
}

static int path_around(struct comm_grouping_use *use, uint32_t id, uint32_t *ret)
{
	struct path *path = use->state;
	const struct comm_edge *node = &path->nodes.edge[id - 1];
	uint32_t call = node->dst_site, function, parent;
	int code;

	*ret = COMM_ID_OTHER;
	if (node->src_site == (uint32_t)UNKNOWN_CALLERS || call == COMM_CALL_OUTERMOST)
		return 0;
	if (call == COMM_CALL_UNKNOWN)
		return node_of(path, (uint32_t)UNKNOWN_CALLERS, COMM_CALL_UNKNOWN, ret);
	code = comm_id_map_at(&path->called, call, &function);
	if (!code)
		code = comm_id_map_at(&path->parent, call, &parent);
	return code ? code : node_of(path, function, parent, ret);
}

/* The node of one function of a path, which all paths share. */
static int frame_of(struct path *path, uint32_t function, const struct comm_node **ret)
{
	bool is_unknown = function == (uint32_t)UNKNOWN_CALLERS;
	struct comm_node **frame = &path->unknown;
	int code;

	if (!is_unknown && function >= path->n_frames) {
		size_t n = function + function / 2 + 1;
		struct comm_node **grown = reallocarray(path->frame, n, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + path->n_frames, 0, (n - path->n_frames) * sizeof(*grown));
		path->frame = grown;
		path->n_frames = n;
	}
	if (!is_unknown)
		frame = &path->frame[function];
	if (!*frame) {
		*frame = comm_texts_alloc(path->functions.texts, sizeof(**frame));
		if (!*frame)
			return -ENOMEM;
		code = comm_grouping_describe(&path->functions,
					      is_unknown ? COMM_ID_OTHER : function, *frame);
		if (code)
			return code;
		if (is_unknown) {
			(*frame)->name = "(callers unknown)";
			(*frame)->other = false;
		}
	}
	*ret = *frame;
	return 0;
}

static int path_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	enum { FRAMES_MAX = COMM_CALL_DEPTH_MAX + 2 };
	struct path *path = use->state;
	const struct comm_node *frame[FRAMES_MAX] = {NULL}, **parts;
	uint32_t at = (uint32_t)sqlite3_column_int64(row, 0);
	size_t n = 0;
	int code = 0;

	/* Innermost first; parents of a damaged store may go round. */
	for (; at != COMM_ID_OTHER && n < FRAMES_MAX && !code; n++) {
		code = frame_of(path, path->nodes.edge[at - 1].src_site, &frame[n]);
		if (!code)
			code = path_around(use, at, &at);
	}
	if (!code && !frame[0])
		code = -EINVAL; /* it is no path's id */
	if (code)
		return code;
	parts = comm_texts_alloc(use->texts, n * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	node->key = "path";
	node->name = frame[0]->name;
	node->module = frame[0]->module;
	node->build_id = frame[0]->build_id;
	node->start = frame[0]->start;
	node->other = frame[0]->other;
	for (size_t i = 0; i < n; i++) {
		parts[n - 1 - i] = frame[i];
		node->key = comm_texts_format(use->texts, "%s%s %s", node->key, i ? "," : "",
					      frame[i]->key);
		if (i)
			node->name = comm_texts_format(use->texts, "%s from %s", node->name,
						       frame[i] == path->unknown ? "..."
										 : frame[i]->name);
	}
	node->parts = parts;
	node->n_parts = n;
	return 0;
}

const struct comm_grouping_ops comm_grouping_path = {
	.grouping = {.name = "path",
		     .help = "Functions with all functions that were under way around them",
		     .title = "functions, by path of calls",
		     .noun = "function",
		     .within = true,
		     .across = true},
	.kind = COMM_NODE_FUNCTION,
	.kind_name = "path",
	.letter = 'k',
	.open = path_open,
	.close = path_close,
	.at = path_at,
	.around = path_around,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = path_describe,
};
