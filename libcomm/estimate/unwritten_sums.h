/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwritten reads of a slice (unwritten.h) while they are summed up.  Bounded: when there are
 * too many ends, those with fewest bytes are folded into one that is not known, and counted.
 * The sums of all ends lose nothing.
 */
#ifndef COMM_UNWRITTEN_SUMS_H
#define COMM_UNWRITTEN_SUMS_H

#include "unwritten.h"

struct comm_unwritten_sums {
	struct comm_unwritten sum;
	struct comm_unwritten_ends ends;
	size_t n_max;
	uint64_t folded; /* ends that were folded, ever */
	bool taken;
};

/* A zeroed one may be deinitialised, too. */
void comm_unwritten_sums_init(struct comm_unwritten_sums *sums, uint64_t memory_bytes);
void comm_unwritten_sums_deinit(struct comm_unwritten_sums *sums);

void comm_unwritten_sums_add(struct comm_unwritten_sums *sums,
			     const struct comm_unwritten_end *end);
/* The same, of reads that wait. */
void comm_unwritten_sums_poll(struct comm_unwritten_sums *sums,
			      const struct comm_unwritten_end *end);
/* Ends the slice: what was added since the last call, valid until the next addition. */
void comm_unwritten_sums_take(struct comm_unwritten_sums *sums, struct comm_unwritten *ret);

#endif
