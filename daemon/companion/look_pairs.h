/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look pairs: whose writes the reads of a thread see in a window on a word, from when it ran
 * and from the word's changes.  What it reads was written by who changed the word last.  Where the
 * thread itself changes what another has written, it is not known whether it reads before that or after:
 * what takes a freed block reads what it has put there, what takes a message reads the other's.
 */
#ifndef COMM_LOOK_PAIRS_H
#define COMM_LOOK_PAIRS_H

#include "look_candidates.h"

enum { COMM_LOOK_PAIRS_MAX = COMM_LOOK_CHANGES_MAX + 1 };

struct comm_look_pair {
	uint32_t tid;		    /* of the writer; 0: not known */
	double share;		    /* of the reads */
	uint64_t read_ns, write_ns; /* of the first time */
};

/*
 * Fills ret with a pair of each writer, whose shares add up to 1; returns how many.  Changes are
 * in order of time, with their writers, intervals those of all threads.  0: there was no change, or the
 * thread did not run after one.
 */
unsigned int comm_look_pairs(uint32_t reader, const struct comm_look_interval *interval,
			     size_t n_intervals, const struct comm_look_change *change, size_t n,
			     struct comm_look_pair ret[COMM_LOOK_PAIRS_MAX]);

#endif
