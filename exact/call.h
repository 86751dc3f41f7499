/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions that somebody asked for (--calls, as a file name pattern): each is a region of its own,
 * "produce #3", from its entry to its exit, whatever it calls included.  Calls of a function are numbered as
 * they begin, over all threads and processes that came from one by fork().  COMM_CALLS_MAX are told apart; what
 * begins later is the region "produce, later calls".
 *
 * Or all calls are followed (--callers): each is in a path of calls then, a function within another path.
 *
 * Which calls are under way in a thread is trace.h's to know.
 */
#ifndef COMM_EXACT_CALL_H
#define COMM_EXACT_CALL_H

#include <stdint.h>

#include "pub_tool_basics.h"

struct comm_trace_call;

enum {
	COMM_CALLS_MAX = 4096,
	COMM_CALLS_DEEP = 64, /* a call within as many others counts for the last of these */
	COMM_CALL_PATHS_MAX = 1 << 16,
	COMM_CALL_PATHS_DEEP = 1 << 16,
};

/* Paths: nobody knows who called, and nobody did. */
enum { COMM_CALL_PATH_UNKNOWN, COMM_CALL_PATH_OUTERMOST, COMM_CALL_PATH_FIRST };

struct comm_call_path {
	UInt parent, function;
};

/* pattern NULL: nobody asked.  callers: follow all calls, and tell as many callers of each; 0: nobody asked. */
void comm_calls_init(const HChar *pattern, UInt callers);
Bool comm_calls_wanted(void);
/* 1 + the index of the function that was asked for and starts at ip, or 0. */
UInt comm_calls_function(Addr ip);
/* The region, or the path, of the last of n calls that are under way. */
UInt comm_calls_begin(const struct comm_trace_call *call, UInt n);
/* False: nobody asked.  How many there were so far: of regions of their own, and others. */
Bool comm_calls_count(uint64_t *ret_numbered, uint64_t *ret_later);

/* 0: nobody asked for callers. */
UInt comm_call_path_count(void);
const struct comm_call_path *comm_call_path_get(UInt id);

#endif
