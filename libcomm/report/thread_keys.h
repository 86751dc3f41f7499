/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys of a run's threads that another run or host has too (comm.h): their name,
 * and which of that name they are, since tids and rows are new each time.
 */
#ifndef COMM_THREAD_KEYS_H
#define COMM_THREAD_KEYS_H

#include "id_map.h"
#include "texts.h"

struct comm_thread_keys {
	struct comm_id_map ordinal; /* by thread */
	struct comm_id_map of_tid;  /* the last thread that had it */
	sqlite3_stmt *name;
};

/* Zeroed at first; deinit also after a failure. */
int comm_thread_keys_init(struct comm_thread_keys *keys, sqlite3 *db, int64_t run);
void comm_thread_keys_deinit(struct comm_thread_keys *keys);

/* "worker#3"; *ret is texts', and "" where the run has no such thread. */
int comm_thread_keys_of_id(struct comm_thread_keys *keys, uint32_t id, struct comm_texts *texts,
			   const char **ret);
int comm_thread_keys_of_tid(struct comm_thread_keys *keys, uint32_t tid, struct comm_texts *texts,
			    const char **ret);

#endif
