// SPDX-License-Identifier: GPL-2.0-or-later
/* --by-thread: the threads that wrote and read. */
#include <errno.h>
#include <stdlib.h>

#include "grouping.h"
#include "thread_keys.h"

static int thread_open(struct comm_grouping_use *use, char **err)
{
	(void)err;
	use->state = calloc(1, sizeof(struct comm_thread_keys));
	if (!use->state)
		return -ENOMEM;
	return comm_thread_keys_init(use->state, use->reader->db, use->run->id);
}

static void thread_close(struct comm_grouping_use *use)
{
	if (use->state)
		comm_thread_keys_deinit(use->state);
	free(use->state);
}

static int thread_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	(void)use;
	comm_shares_one(ret, end->thread);
	return 0;
}

static int thread_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	const char *key;
	int code =
		comm_thread_keys_of_id(use->state, sqlite3_column_int64(row, 3), use->texts, &key);

	if (code)
		return code;
	node->name = comm_texts_keep(use->texts, row, 0);
	node->tgid = sqlite3_column_int64(row, 1);
	node->tid = sqlite3_column_int64(row, 2);
	node->start_ns = sqlite3_column_int64(row, 4);
	node->key = comm_texts_format(use->texts, "thread %s", key);
	return 0;
}

const struct comm_grouping_ops comm_grouping_thread = {
	.grouping = {.name = "thread",
		     .help = "Threads",
		     .title = "threads",
		     .noun = "thread",
		     .matrix = true},
	.kind = COMM_NODE_THREAD,
	.kind_name = "thread",
	.letter = 't',
	.open = thread_open,
	.close = thread_close,
	.at = thread_at,
	.by_thread = true,
	.sql = "SELECT CASE title WHEN '' THEN name ELSE title || '/' || tid END, tgid, tid, id,"
	       " start_ns FROM thread"
	       " WHERE run = ?1 AND id = ?2",
	.describe = thread_describe,
};
