/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions that somebody asked for (--calls, as a file name pattern): each is a region of its own,
 * "produce #3", from its entry to its exit, whatever it calls included.  Calls of a function are numbered as
 * they begin, over all threads and processes that came from one by fork().  COMM_CALLS_MAX are told apart; what
 * begins later is the region "produce, later calls".
 *
 * Which calls are under way in a thread is trace.h's to know.
 */
#ifndef COMM_EXACT_CALL_H
#define COMM_EXACT_CALL_H

#include <stdint.h>

#include "pub_tool_basics.h"

enum {
	COMM_CALLS_MAX = 4096,
	COMM_CALL_REGIONS_MAX = 1 << 14,
};

/* Regions: none, and one for which there was no room. */
enum { COMM_CALL_REGION_NONE, COMM_CALL_REGION_OTHER };

struct comm_call_region {
	UInt parent; /* the region around it */
	const HChar *name;
	Bool is_later; /* of more than one call */
};

/* pattern NULL: nobody asked. */
void comm_calls_init(const HChar *pattern);
Bool comm_calls_wanted(void);
/* 1 + the index of the function that was asked for and starts at ip, or 0. */
UInt comm_calls_function(Addr ip);
/* The region of a call of that index that begins within another one. */
UInt comm_calls_begin(UInt function, UInt around);
/* How many there were so far: of regions of their own, and others. */
void comm_calls_count(uint64_t *ret_numbered, uint64_t *ret_later);

UInt comm_call_region_count(void);
const struct comm_call_region *comm_call_region_get(UInt id);

#endif
