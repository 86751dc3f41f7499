/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run in slices of time: what each thread's table has more at the end of a slice than at the end of the one
 * before.  As long as nobody asked for slices the run is one.  A thread of the library's own looks at the tables, so
 * that the program's need not ask for the time at each access; what is counted while it looks falls on one side or
 * the other, and all of it on one.
 */
#ifndef COMM_EXACT_TSAN_SLICE_H
#define COMM_EXACT_TSAN_SLICE_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

struct comm_exact_slice {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t first, n;	   /* of the shares */
};

/* What an edge of a thread has more (thread.h). */
struct comm_exact_share {
	uint64_t key, object; /* as there */
	uint64_t bytes, first_bytes;
	uint32_t thread; /* slot */
	uint32_t cpu;	 /* of the thread, as of thread.h */
};

struct comm_exact_slices {
	int are_cut;
	uint64_t n;	 /* those without a share left out */
	uint64_t end_ns; /* CLOCK_MONOTONIC, of the last */
	uint64_t
		uncut_ns; /* from there on they took too much memory: the rest is one; 0: nowhere */
};

/* length_ns 0: the run is one slice, up to when it is asked for. */
void comm_exact_slices_begin(uint64_t start_ns, uint64_t length_ns);
/* Ends the slice at hand; slices stay as they are until they are given back.  0 or -ENOMEM. */
int comm_exact_slices_take(struct comm_exact_slices *ret);
void comm_exact_slices_give_back(void);

const struct comm_exact_slice *comm_exact_slice_at(uint64_t i);
const struct comm_exact_share *comm_exact_share_at(uint64_t i);

#pragma GCC visibility pop

#endif
