/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads: dense ids for the threads of targets, never reused in a run.  Id 0 is
 * "(other)": for data without a thread, and for new threads past COMM_THREADS_MAX, which
 * are counted.
 */
#ifndef COMM_THREAD_H
#define COMM_THREAD_H

#include "ids.h"
#include "inspect.h"

struct comm_threads;

int comm_threads_create(const struct comm_inspect *inspect, struct comm_threads **ret);
void comm_threads_destroy(struct comm_threads *threads);

/*
 * The id of the thread that has tid at now_ns, or had it until a moment before; a reused tid gets
 * another id.
 */
uint32_t comm_threads_get(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			  uint64_t now_ns);
/* The same of a thread that is known to begin now. */
uint32_t comm_threads_begin(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			    uint64_t now_ns);
void comm_threads_exit(struct comm_threads *threads, uint32_t tid, uint64_t now_ns);
/* The thread's name may have changed (exec, prctl): reads it again. */
void comm_threads_renamed(struct comm_threads *threads, uint32_t tgid, uint32_t tid);

/* Threads that are "(other)" because the ids had run out. */
uint64_t comm_threads_unfiled(const struct comm_threads *threads);
uint32_t comm_threads_count(const struct comm_threads *threads);
const struct comm_thread *comm_threads_at(const struct comm_threads *threads, uint32_t id);

#endif
