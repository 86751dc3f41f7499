/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allotment: a constant share of something that grows, a budget or time, and what was spent of it.
 * What was not spent is kept for a time, twice that at most: not for after an idle hour.  A zeroed one
 * with its share and that time set is ready to use.
 */
#ifndef COMM_ALLOTMENT_H
#define COMM_ALLOTMENT_H

#include <stdint.h>

struct comm_allotment {
	double share;
	uint64_t kept_ns;
	uint64_t all_ns, spent_ns; /* as of the last call */
	/* All as of kept_ns ago, or up to twice that, and as of a time since then. */
	uint64_t old_all_ns, since_ns, since_all_ns;
	double left_ns;
};

/* What is left; below 0: owed.  Both are sums since the start of the run. */
double comm_allotment_left(struct comm_allotment *allotment, uint64_t now_ns, uint64_t all_ns,
			   uint64_t spent_ns);
/* The most that could be left, as of the last call. */
double comm_allotment_most(const struct comm_allotment *allotment);

#endif
