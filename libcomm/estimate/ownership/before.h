/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Before: who can have written a table that nobody was seen to write?  Whoever ran
 * before it was first read, each with a chance proportional to the CPU time it had
 * used by then.  CPU time is that of the samples; a process that began
 * in this run was its initial thread's alone until another thread was sampled,
 * which is when most tables are made and the fewest samples are taken.
 *
 * Of a process that is older than the run nothing is known: its tables' writers are not
 * seen.  A process is told by the address space of its threads' first access.
 */
#ifndef COMM_BEFORE_H
#define COMM_BEFORE_H

#include <stdint.h>

struct comm_before;

enum { COMM_BEFORE_THREADS = 256 }; /* the others have no share */

int comm_before_create(struct comm_before **ret);
void comm_before_destroy(struct comm_before *before);

/* The initial thread of a process has begun a program: nothing was written before. */
void comm_before_began(struct comm_before *before, uint64_t time_ns, uint32_t thread);
/* A sample of a thread, in order of time, that stands for cpu_ns and accessed datum first. */
void comm_before_ran(struct comm_before *before, uint64_t time_ns, uint32_t thread, double cpu_ns,
		     uint64_t datum);
/*
 * The chances of the threads up to *ret_n to have written the datum before time_ns;
 * NULL: nothing is known.  Valid until the next call.
 */
const double *comm_before_shares(struct comm_before *before, uint64_t datum, uint64_t time_ns,
				 uint32_t *ret_n);

#endif
