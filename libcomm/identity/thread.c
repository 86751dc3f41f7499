// SPDX-License-Identifier: GPL-2.0-or-later
#include "thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIDS_MAX = 4 << 20,	    /* the kernel's PID_MAX_LIMIT */
	UNFILED = COMM_THREADS_MAX, /* in of_tid: the thread got no id, it is "(other)" */
};

/*
 * The last switch of a thread, and what a watchpoint tells of it, come after its exit.  So soon no
 * tid is given to another thread of the same process, or its fork is told (comm_threads_begin()).
 */
static const uint64_t LINGER_NS = 10 * 1000000000ull;

struct comm_threads {
	const struct comm_inspect *inspect;
	/*
	 * An array mapped at full size: the kernel allocates a page when it is first
	 * touched, and pointers handed out stay valid.
	 */
	struct comm_thread *thread;
	uint32_t n;
	uint32_t *of_tid; /* 0: none */
	uint64_t n_unfiled;
};

int comm_threads_create(const struct comm_inspect *inspect, struct comm_threads **ret)
{
	struct comm_threads *threads = calloc(1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	threads->inspect = inspect;
	threads->thread = calloc(COMM_THREADS_MAX, sizeof(*threads->thread));
	threads->of_tid = calloc(TIDS_MAX, sizeof(*threads->of_tid));
	if (!threads->thread || !threads->of_tid) {
		comm_threads_destroy(threads);
		return -ENOMEM;
	}
	strcpy(threads->thread[threads->n++].name, "(other)");
	*ret = threads;
	return 0;
}

void comm_threads_destroy(struct comm_threads *threads)
{
	if (!threads)
		return;
	free(threads->thread);
	free(threads->of_tid);
	free(threads);
}

static void ask_name(struct comm_threads *threads, struct comm_thread *t)
{
	const struct comm_inspect *inspect = threads->inspect;
	char name[16] = "";

	/* A thread that has ended already gets its process's name. */
	if (inspect->ops->thread_name(inspect->ctx, t->tgid, t->tid, name) < 0 &&
	    inspect->ops->thread_name(inspect->ctx, t->tgid, t->tgid, name) < 0) {
		if (!t->name[0])
			strcpy(t->name, "?");
		return;
	}
	memset(t->name, 0, sizeof(t->name));
	for (size_t i = 0; i < sizeof(t->name) - 1 && name[i]; i++)
		t->name[i] = name[i] >= 0x20 && name[i] <= 0x7e ? name[i] : '?';
}

uint32_t comm_threads_get(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			  uint64_t now_ns)
{
	struct comm_thread *t;
	uint32_t id;

	if (!tid || tid >= TIDS_MAX)
		return COMM_ID_OTHER;
	id = threads->of_tid[tid];
	if (id == UNFILED)
		return COMM_ID_OTHER;
	t = &threads->thread[id];
	if (id && (t->tgid == tgid || !tgid) && (!t->end_ns || now_ns < t->end_ns + LINGER_NS))
		return id;
	/* Another tgid: the tid was reused, and the exit may have been lost. */
	if (id)
		comm_threads_exit(threads, tid, now_ns);
	if (threads->n >= COMM_THREADS_MAX) {
		threads->of_tid[tid] = UNFILED;
		threads->n_unfiled++;
		return COMM_ID_OTHER;
	}
	id = threads->n++;
	t = &threads->thread[id];
	*t = (struct comm_thread){.tgid = tgid, .tid = tid, .start_ns = now_ns};
	ask_name(threads, t);
	threads->of_tid[tid] = id;
	return id;
}

void comm_threads_exit(struct comm_threads *threads, uint32_t tid, uint64_t now_ns)
{
	if (tid >= TIDS_MAX || !threads->of_tid[tid])
		return;
	if (threads->of_tid[tid] == UNFILED)
		threads->of_tid[tid] = 0;
	else if (!threads->thread[threads->of_tid[tid]].end_ns)
		threads->thread[threads->of_tid[tid]].end_ns = now_ns;
}

uint32_t comm_threads_begin(struct comm_threads *threads, uint32_t tgid, uint32_t tid,
			    uint64_t now_ns)
{
	if (tid < TIDS_MAX && threads->of_tid[tid] && threads->of_tid[tid] != UNFILED &&
	    threads->thread[threads->of_tid[tid]].end_ns)
		threads->of_tid[tid] = 0;
	return comm_threads_get(threads, tgid, tid, now_ns);
}

void comm_threads_renamed(struct comm_threads *threads, uint32_t tgid, uint32_t tid)
{
	struct comm_thread *t;

	if (tid >= TIDS_MAX || !threads->of_tid[tid] || threads->of_tid[tid] == UNFILED)
		return;
	t = &threads->thread[threads->of_tid[tid]];
	/* /proc has forgotten a thread that has ended, or tells of another. */
	if (t->tgid == tgid && !t->end_ns)
		ask_name(threads, t);
}

uint64_t comm_threads_unfiled(const struct comm_threads *threads)
{
	return threads->n_unfiled;
}

uint32_t comm_threads_count(const struct comm_threads *threads)
{
	return threads->n;
}

const struct comm_thread *comm_threads_at(const struct comm_threads *threads, uint32_t id)
{
	return &threads->thread[id < threads->n ? id : COMM_ID_OTHER];
}
