/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trust: from how far away votes may tell that a read crosses threads.  Reads of known writer
 * (their very datum was written by one thread alone, in other bursts) are estimated once
 * more for each level, as if what lies nearer had not been seen written; what that says of other
 * threads is right or wrong.  Where it is mostly wrong, neighbours in memory have other
 * writers, and an edge that rests on such is a guess: the same one in every part of the run, so
 * no comparison of parts can tell.
 */
#ifndef COMM_TRUST_H
#define COMM_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "nest.h"

/* By level; zeroed at the start. */
struct comm_trust {
	double crossing[COMM_NEST_LEVELS]; /* bursts' worth of reads foretold to cross */
	double right[COMM_NEST_LEVELS];	   /* of those, foretold to the thread that wrote */
};

/* The thread that wrote a datum, from votes for it alone; 0: none, or several. */
uint32_t comm_trust_label(const struct comm_nest_view *view);
void comm_trust_learn(struct comm_trust *trust, uint32_t level, double crossing, double right);
/* Whether votes of that level and larger ones alone may tell of other threads. */
bool comm_trust_in(const struct comm_trust *trust, uint32_t level);

#endif
