/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allotment: a constant share of something that grows, a budget or time, and what was spent of it.
 * What was not spent is kept for a second, two at most: not for after an idle hour.  A zeroed one
 * with its share set is ready to use.
 */
#ifndef COMM_ALLOTMENT_H
#define COMM_ALLOTMENT_H

#include <stdbool.h>
#include <stdint.h>

struct comm_allotment {
	double share;
	uint64_t all_ns, spent_ns; /* as of the last call */
	/* All as of a second ago, or up to twice that, and as of a time since then. */
	uint64_t old_all_ns, since_ns, since_all_ns;
	double left_ns;
};

/* Is any left?  Both are sums since the start of the run. */
bool comm_allotment_left(struct comm_allotment *allotment, uint64_t now_ns, uint64_t all_ns,
			 uint64_t spent_ns);

#endif
