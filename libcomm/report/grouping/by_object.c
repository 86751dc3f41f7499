// SPDX-License-Identifier: GPL-2.0-or-later
/* --by-object: the data between the threads that wrote and those that read it. */
#include <errno.h>
#include <stdlib.h>

#include "grouping.h"
#include "ids.h"
#include "object_kind.h"
#include "thread_keys.h"

/*
 * Estimators keep allocations apart; a user cannot tell apart two objects of one name and
 * one process, so they are one node, which has the id of the first.
 */
static const char first_sql[] =
	"SELECT id, min(id) OVER (PARTITION BY kind, name, module, build_id, thread_tid, tgid)"
	" FROM object WHERE run = ?1";

static int object_open(struct comm_grouping_use *use, char **err)
{
	int code;

	(void)err;
	use->state = calloc(1, sizeof(struct comm_thread_keys));
	code = use->state ? comm_thread_keys_init(use->state, use->reader->db, use->run->id)
			  : -ENOMEM;
	return code ? code : comm_id_map_load(&use->map, use->reader->db, first_sql, use->run->id);
}

static void object_close(struct comm_grouping_use *use)
{
	if (use->state)
		comm_thread_keys_deinit(use->state);
	free(use->state);
}

static int object_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	uint32_t first;
	int code = comm_id_map_at(&use->map, end->object, &first);

	if (!code)
		comm_shares_one(ret, first);
	return code;
}

/*
 * A stack's name holds its thread's tid, so its key takes the thread's key instead.  Other
 * private memory is told apart by its process, which has the key of its main thread.
 */
static int describe_key(struct comm_grouping_use *use, struct comm_node *node)
{
	const char *thread = "", *process = "";
	int code = 0;

	if (node->tid)
		code = comm_thread_keys_of_tid(use->state, node->tid, use->texts, &thread);
	else if (node->tgid)
		code = comm_thread_keys_of_tid(use->state, node->tgid, use->texts, &process);
	if (code)
		return code;
	if (*thread)
		node->key = comm_texts_format(use->texts, "object %s of thread %s",
					      node->object_kind, thread);
	else
		node->key =
			comm_texts_format(use->texts, "object %s %s%s%s%s%s", node->object_kind,
					  *node->build_id ? node->build_id : node->module,
					  *node->build_id || *node->module ? ":" : "", node->name,
					  *process ? " of process of " : "", process);
	return 0;
}

/*
 * A stack is met before its thread has the name that it gives itself, so it is called by what the
 * run came to know of its thread.
 */
static int describe_stack(struct comm_grouping_use *use, struct comm_node *node)
{
	const char *called;
	int code = comm_thread_keys_called(use->state, node->tgid, node->tid, use->texts, &called);

	if (!code && *called)
		node->name = comm_texts_format(use->texts, "stack of %s/%u", called, node->tid);
	return code;
}

static int object_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	node->name = comm_texts_keep(use->texts, row, 0);
	node->module = comm_texts_keep(use->texts, row, 1);
	node->build_id = comm_texts_keep(use->texts, row, 2);
	node->object_kind = comm_object_kind_name(sqlite3_column_int64(row, 3));
	node->size_bytes = sqlite3_column_int64(row, 4);
	node->tid = sqlite3_column_int64(row, 5);
	node->tgid = sqlite3_column_int64(row, 6);
	if (sqlite3_column_int64(row, 3) == COMM_OBJECT_STACK && node->tid) {
		int code = describe_stack(use, node);

		if (code)
			return code;
	}
	return describe_key(use, node);
}

const struct comm_grouping_ops comm_grouping_object = {
	.grouping = {.name = "object",
		     .help = "Threads and the data objects between them",
		     .title = "threads, by object",
		     .noun = "thread",
		     .between = true},
	.kind = COMM_NODE_OBJECT,
	.kind_name = "object",
	.letter = 'o',
	.ends = &comm_grouping_thread,
	.of_data = true,
	.open = object_open,
	.close = object_close,
	.at = object_at,
	.sql = "SELECT name, module, build_id, kind, size_bytes, thread_tid, tgid FROM object"
	       " WHERE run = ?1 AND id = ?2",
	.describe = object_describe,
};
