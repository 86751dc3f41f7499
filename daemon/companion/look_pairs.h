/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look pairs: whose writes the reads of a thread see in a window on a word, from when it ran
 * and from the word's changes.  What it reads was written by who changed the word last; of the
 * time before a change of its own, only as much counts as the word has a value for, for then it reads its own.
 */
#ifndef COMM_LOOK_PAIRS_H
#define COMM_LOOK_PAIRS_H

#include "look_candidates.h"

enum { COMM_LOOK_PAIRS_MAX = COMM_LOOK_CHANGES_MAX + 1 };

struct comm_look_reader {
	uint32_t tid;
	uint64_t lag_ns;  /* for so long the word has a value */
	uint64_t ends_ns; /* the window does */
};

struct comm_look_pair {
	uint32_t tid;		    /* of the writer; 0: not known */
	double share;		    /* of the reads */
	uint64_t read_ns, write_ns; /* of the first time */
};

/*
 * Fills ret with a pair of each writer, whose shares add up to 1; returns how many.  Changes are
 * in order of time, with their writers, intervals those of all threads.  0: there was no change.
 * When the thread did not run after a change, changes count instead of its time.
 */
unsigned int comm_look_pairs(const struct comm_look_reader *reader,
			     const struct comm_look_interval *interval, size_t n_intervals,
			     const struct comm_look_change *change, size_t n,
			     struct comm_look_pair ret[COMM_LOOK_PAIRS_MAX]);

#endif
