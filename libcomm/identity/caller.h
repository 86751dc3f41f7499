/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers: who called the function that a sample met, and who called that one; by the frames of
 * the code (frame_table.h), from the stack that the sample captured, which is hostile:
 * return addresses are those of executable code, and frames stand above each other.
 * Past what was captured, or what code says, nothing is known.
 */
#ifndef COMM_CALLER_H
#define COMM_CALLER_H

#include "event.h"
#include "site.h"

enum {
	COMM_CALLERS_RETURNED =
		3, /* functions that a burst may return from, and still have callers */
	COMM_CALLERS_MAX = COMM_CALL_DEPTH_MAX + COMM_CALLERS_RETURNED,
};

/*
 * The return addresses of the innermost functions, at most n; returns how many.  *ret_all: these
 * are all, for nobody called the last function.
 */
unsigned int comm_callers_find(struct comm_sites *sites, struct comm_space *space, uint64_t now_ns,
			       const struct comm_sample *sample, unsigned int n,
			       uint64_t ret[COMM_CALLERS_MAX], bool *ret_all);

#endif
