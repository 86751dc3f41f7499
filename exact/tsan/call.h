/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions that somebody asked for (COMM_EXACT_CALLS, as a file name pattern): each is a region
 * of its own, "produce #3", from its entry to its exit, whatever it calls included.  Calls of a function
 * are numbered as they begin, over all threads and children of fork().  COMM_EXACT_CALLS_MAX are told
 * apart; what begins later is the region "produce, later calls".
 *
 * Or all calls are followed (COMM_EXACT_CALLERS): each is in a path then (path.h).
 *
 * A call that longjmp() leaves ends where the function with the setjmp() does, or before.  Those around may
 * end late, where the function that called them does.
 */
#ifndef COMM_EXACT_CALL_H
#define COMM_EXACT_CALL_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	COMM_EXACT_CALLS_MAX = 4096,
	/* A call within as many others counts for the last of these; where all are followed, within as many as the latter. */
	COMM_EXACT_CALLS_DEEP = 64,
	COMM_EXACT_CALLERS_DEEP = 1 << 16,
	COMM_EXACT_CALLERS = 16,	/* of each at most */
	COMM_EXACT_FUNCTIONS = 1 << 15, /* that were called; of more, calls are not followed */
};

/* Whether anybody asked: entries and exits of functions are looked at only then. */
extern int comm_exact_calls_wanted;

/* After comm_exact_threads_init().  callers: follow all calls, and tell as many callers of each; 0: nobody asked. */
void comm_exact_calls_init(const char *pattern, uint32_t callers);

/*
 * A function begins, and one ends.  pc: in the function, behind the call that says so; sp: the stack's top
 * at that call, or where the function began if a jump said so.
 */
void comm_exact_call_begin(uint64_t pc, uint64_t sp);
void comm_exact_call_end(uint64_t sp);

/* In a function that paths name; 0: it is not called yet. */
uint64_t comm_exact_function_pc(uint32_t function);
/* 0: nobody asked.  How many there were so far: of regions of their own, and others. */
int comm_exact_calls_count(uint64_t *ret_numbered, uint64_t *ret_later);

#pragma GCC visibility pop

#endif
