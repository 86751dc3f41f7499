/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look candidates: who wrote each change of a word, by who ran between two looks at it.  A change with
 * one candidate is that thread's.  The others are settled together: shares of threads in the
 * word's changes, by maximum likelihood (Dempster, Laird and Rubin, Maximum likelihood from incomplete
 * data via the EM algorithm, JRSS B 39, 1977).  Only that a thread ran counts, not for how
 * long: where in its slice a thread writes is no matter of chance.
 *
 * Where two threads always ran together it cannot be told who wrote, and nobody is named.
 */
#ifndef COMM_LOOK_CANDIDATES_H
#define COMM_LOOK_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

#include "look_timeline.h"

enum { COMM_LOOK_CHANGES_MAX = 256 };

struct comm_look_change {
	uint64_t since_ns;     /* of the look before; 0: not known, and nobody is a candidate */
	uint64_t time_ns;      /* of the look that found it */
	uint64_t until_ns;     /* the latest at which it was written */
	uint64_t value;	       /* since then; its meaning is the caller's */
	uint32_t n_candidates; /* result: threads that ran meanwhile */
	uint32_t tid;	       /* result: who wrote; 0: not known */
};

/*
 * Sets the results of n changes of a word, at most COMM_LOOK_CHANGES_MAX.  The intervals are in
 * the order of their beginnings, and all threads' that could have written.
 */
void comm_look_candidates_settle(const struct comm_look_interval *interval, size_t n_intervals,
				 struct comm_look_change *change, size_t n);

#endif
