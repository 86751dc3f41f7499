/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lives of threads: what it means for identity, address spaces, frames and the estimator that a thread goes on a CPU
 * or off it, runs another program or ends, with its process or without.
 *
 * Not for names and ids of threads (thread.h).  Owns nothing.  engine.c has one, and gives it those events.
 */
#ifndef COMM_THREAD_LIVES_H
#define COMM_THREAD_LIVES_H

#include "estimator.h"
#include "event.h"
#include "frame.h"
#include "identity.h"
#include "open_slice.h"
#include "space.h"

struct comm_thread_lives {
	struct comm_identity *identity;
	struct comm_space_table *spaces;
	struct comm_frames *frames;
	const struct comm_est_ops *ops;
	void *est;
	struct comm_open_slice *slice; /* for losses */
};

void comm_thread_lives_switch(const struct comm_thread_lives *lives,
			      const struct comm_event *event);
void comm_thread_lives_exec(const struct comm_thread_lives *lives, const struct comm_event *event);
void comm_thread_lives_exit(const struct comm_thread_lives *lives, const struct comm_event *event);
/* Forgets processes of which records came after their end. */
void comm_thread_lives_forget(const struct comm_thread_lives *lives);

#endif
