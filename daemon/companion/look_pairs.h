/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look pairs: whose writes a read of a word sees, from the word's changes in a window.
 *
 * What counts is the value that was read, where the sample brought it: it was written by who makes changes
 * to that value.  A reader that runs need not read: one that fills a block runs on while others hold the
 * block, and looks at it again when it has taken it back, and written it.  So of a value that does not come again it
 * is known only where one thread makes all changes, and some of them: looks miss a write that another one
 * follows.  It counts for as long as the reader runs after the first one.
 */
#ifndef COMM_LOOK_PAIRS_H
#define COMM_LOOK_PAIRS_H

#include <stdbool.h>

#include "look_candidates.h"

enum { COMM_LOOK_PAIRS_MAX = COMM_LOOK_CHANGES_MAX + 1, COMM_LOOK_CHANGES_LEAST = 4 };

struct comm_look_pair {
	uint32_t tid;		    /* of the writer; 0: not known */
	double share;		    /* of the reads */
	uint64_t read_ns, write_ns; /* of the first time */
};

struct comm_look_read {
	uint32_t tid;
	bool has_value;
	uint64_t value; /* as those of changes */
};

/* Why it is not known whose value is read. */
enum comm_look_unknown {
	COMM_LOOK_KNOWN,
	COMM_LOOK_QUIET, /* there was no change */
	COMM_LOOK_FEW,	 /* there were few, all of one thread, */
	COMM_LOOK_SEVERAL, /* or of several threads, or of nobody known; and none to the value that was read */
	COMM_LOOK_IDLE, /* the reader did not run after one */
	COMM_LOOK_UNKNOWN_MAX
};

/*
 * Fills ret with a pair of each writer, whose shares add up to 1; returns how many.  Changes are
 * in order of time, with their writers, intervals those of all threads.  0: there was no change, the
 * thread did not run after one, or it is not known whose it reads.
 */
unsigned int comm_look_pairs(const struct comm_look_read *read,
			     const struct comm_look_interval *interval, size_t n_intervals,
			     const struct comm_look_change *change, size_t n,
			     struct comm_look_pair ret[COMM_LOOK_PAIRS_MAX],
			     enum comm_look_unknown *ret_why);

#endif
