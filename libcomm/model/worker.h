/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker: the thread at the one end of a ring, which takes what another thread puts at the other end.  The ring, and
 * what is put into it, is the user's; what is here is how the thread begins, waits and ends.
 *
 * All functions but comm_worker_wait() are for the thread that puts.
 */
#ifndef COMM_WORKER_H
#define COMM_WORKER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

struct comm_worker {
	sem_t there; /* one for each thing that was put, and one more at the end */
	sem_t is_up, is_down;
	pthread_t thread;
	bool is_started, is_over;
	void (*work)(void *ctx); /* returns when there is nothing at the end of a wait */
	void *ctx;
};

void comm_worker_init(struct comm_worker *worker);
/* Not while the thread is there. */
void comm_worker_deinit(struct comm_worker *worker);
/*
 * The thread begins, and calls work; it has the rights that its maker has by now.  No signal is handled in it but SIGBUS,
 * which is its own when a file that it has mapped was cut short.  0 or -errno.
 */
int comm_worker_start(struct comm_worker *worker, void (*work)(void *ctx), void *ctx);
/* Something was put. */
void comm_worker_tell(struct comm_worker *worker);
/* In the thread: returns when the next thing was put, or at the end. */
void comm_worker_wait(struct comm_worker *worker);
/*
 * Has the thread end when it has taken all that was put.  -ETIMEDOUT: at give_up_ns (CLOCK_MONOTONIC) it is still in the
 * midst of it, and may stay there: nothing that it has may go.
 */
int comm_worker_end(struct comm_worker *worker, uint64_t give_up_ns);

#endif
