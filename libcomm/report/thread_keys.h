/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run's threads are called, and their keys, the same in other runs and on other hosts
 * (comm_node.key): a thread's name, and its number among those of that name, since tids and rows
 * differ in each run.  Of a title the key has the role, without what differs in each run.
 */
#ifndef COMM_THREAD_KEYS_H
#define COMM_THREAD_KEYS_H

#include "id_map.h"
#include "texts.h"

/* Of a row of the table thread. */
#define COMM_THREAD_CALLED " CASE title WHEN '' THEN name ELSE title END "
#define COMM_THREAD_KEYED " CASE title WHEN '' THEN name ELSE role END "

struct comm_thread_keys {
	struct comm_id_map ordinal; /* by thread */
	struct comm_id_map of_tid;  /* from a tid to the last thread that had it */
	sqlite3_stmt *row;
};

/* keys is zeroed before; call deinit() also after a failure. */
int comm_thread_keys_init(struct comm_thread_keys *keys, sqlite3 *db, int64_t run);
void comm_thread_keys_deinit(struct comm_thread_keys *keys);

/* Gives "worker#3"; texts owns *ret, which is "" where the run has no such thread. */
int comm_thread_keys_of_id(struct comm_thread_keys *keys, uint32_t id, struct comm_texts *texts,
			   const char **ret);
int comm_thread_keys_of_tid(struct comm_thread_keys *keys, uint32_t tid, struct comm_texts *texts,
			    const char **ret);
/* What the thread tid of that process is called; "": the run has no such thread. */
int comm_thread_keys_called(struct comm_thread_keys *keys, uint32_t tgid, uint32_t tid,
			    struct comm_texts *texts, const char **ret);

#endif
