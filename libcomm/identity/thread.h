/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads: ids for the threads of targets, never reused in a run, and a table of these threads,
 * whose places are: there is room for COMM_THREADS_MAX that live, have ended a moment ago, or
 * are not stored yet.  Id 0 is "(other)": for data without a thread, and for new threads that
 * find no place, which are counted.
 *
 * A thread has the name that the kernel tells, or where that is its process's the one that its program gives it
 * (inspect.h's given_name()), which is asked for again ever less often, since it may come late.
 */
#ifndef COMM_THREAD_H
#define COMM_THREAD_H

#include "event.h"
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
/* The id of the thread that had tid last; COMM_ID_OTHER: none was seen. */
uint32_t comm_threads_find(const struct comm_threads *threads, uint32_t tgid, uint32_t tid);
/* As comm_threads_get(), of a thread that is known to begin now. */
uint32_t comm_threads_begin(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			    uint64_t now_ns);
/* As comm_threads_begin(), of the child of a FORK, whose thread is the creator of one of its process. */
void comm_threads_fork(struct comm_threads *threads, const struct comm_event *event);
/* COMM_ID_OTHER: not known, or another process's, of which a new process has a copy. */
uint32_t comm_threads_creator(const struct comm_threads *threads, uint32_t id);
void comm_threads_exit(struct comm_threads *threads, uint32_t tid, uint64_t now_ns);
/*
 * The same number for threads whose names make them of one role (role.h) and that are all, or none
 * of them, their process's first; 0: not known.
 */
uint32_t comm_threads_role(const struct comm_threads *threads, uint32_t id);
/* The thread's name may have changed (prctl): reads it again. */
void comm_threads_renamed(struct comm_threads *threads, uint32_t tgid, uint32_t tid);
/* The thread's name as the kernel told it at that time; the thread is new if it was not seen before. */
void comm_threads_named(struct comm_threads *threads, const struct comm_event *event);
/* The thread is its process's only one, which runs another program. */
void comm_threads_exec(struct comm_threads *threads, uint32_t tgid, uint32_t tid);

/* Slices up to end_ns are stored, and with them the names of all threads that were seen by then. */
void comm_threads_stored(struct comm_threads *threads, uint64_t end_ns);

/* Threads that are "(other)" because there was no place. */
uint64_t comm_threads_unfiled(const struct comm_threads *threads);
/* Places that have or had a thread, and the thread of one. */
uint32_t comm_threads_count(const struct comm_threads *threads);
const struct comm_thread *comm_threads_at(const struct comm_threads *threads, uint32_t place);

#endif
