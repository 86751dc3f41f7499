/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Python programs call their threads (threading.Thread), of which the kernel knows nothing before CPython 3.14.
 * From the interpreter's variable "_PyRuntime" on, its modules lead to "threading", and that one's dictionary "_active"
 * to all threads that run: each knows its name and its tid (Include/internal/pycore_runtime.h, Lib/threading.py).
 * All of it is read from the target's memory and may be anything: what comes back are names to show.
 *
 * One walk gives the names of all threads of a process.  Walks take one part in a hundred of the time at most, and
 * reads in one, threads and processes are bounded.  One thread uses it.
 */
#ifndef COMM_PYTHON_THREADS_H
#define COMM_PYTHON_THREADS_H

#include "ids.h"

#include <stddef.h>
#include <sys/types.h>

struct comm_python_threads;

/* As in python_objects.h, and a clock. */
struct comm_python_reading {
	ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes);
	int (*words)(void *ctx, uint32_t tgid, const uint64_t *addr, size_t n, uint64_t *ret);
	uint64_t (*now_ns)(void *ctx);
	void *ctx;
};

struct comm_python_process {
	uint32_t tgid;
	uint64_t runtime; /* where "_PyRuntime" is; another address: another program */
	unsigned int minor;
};

int comm_python_threads_create(const struct comm_python_reading *reading,
			       struct comm_python_threads **ret);
void comm_python_threads_destroy(struct comm_python_threads *threads);

/*
 * The name of a thread, clean (text.h) and cut to what fits, as the last walk found it, which a question may begin.
 * -ENOENT: it has none, as far as is known; -EAGAIN: nothing could be read, ask again later.
 */
int comm_python_threads_name(struct comm_python_threads *threads,
			     const struct comm_python_process *process, uint32_t tid,
			     char name[COMM_THREAD_NAME_BYTES]);

#endif
