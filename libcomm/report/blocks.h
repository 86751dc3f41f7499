/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of time: the slices of a report dealt out in turn to a few blocks, so that each
 * block is spread over the whole range.  What a sum over the range differs by from block to
 * block is its variance, whatever the estimator's own model says, and the even
 * and the odd blocks are two halves of the run that must agree about what is stated.
 * Interleaved, because a load that changes in the course of a run is no error.
 */
#ifndef COMM_BLOCKS_H
#define COMM_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strand.h"

enum {
	COMM_BLOCKS_MAX = COMM_STRANDS,
	COMM_BLOCKS_MIN = 4, /* with fewer the halves say nothing */
};

struct comm_blocks {
	size_t n;			/* blocks that have a slice */
	double weight[COMM_BLOCKS_MAX]; /* length of each block in time */
	size_t next;			/* block of the next slice */
};

/* Of a sum over the range, what each block gave; or its shares of a row of a slice. */
struct comm_block_sums {
	double sum[COMM_BLOCKS_MAX];
};

static inline void comm_block_sums_add(struct comm_block_sums *sums,
				       const struct comm_block_sums *shares, double bytes)
{
	for (size_t i = 0; i < COMM_BLOCKS_MAX; i++)
		sums->sum[i] += shares->sum[i] * bytes;
}

/* Blocks that gave anything: no more than the slices that did. */
static inline uint32_t comm_block_sums_used(const struct comm_block_sums *sums)
{
	uint32_t n = 0;

	for (size_t i = 0; i < COMM_BLOCKS_MAX; i++)
		n += sums->sum[i] > 0;
	return n;
}

/* Deals out the next slice, in order of time; returns its block. */
size_t comm_blocks_add(struct comm_blocks *blocks, double length);
/*
 * Deals out the parts of the next slice, of that length together and these shares of it by
 * strand, as if each were a slice; returns the block of the first strand, which the others follow.
 */
size_t comm_blocks_add_parts(struct comm_blocks *blocks, double length,
			     const double share[COMM_STRANDS], uint64_t parts);
/*
 * The variance of the sum over all blocks of sums, where a block's expectation goes with its
 * weight in by (NULL: its length): that of a jackknife which leaves out one block at a time.
 * < 0: there are too few blocks to tell.
 */
double comm_blocks_variance(const struct comm_blocks *blocks, const struct comm_block_sums *sums,
			    const struct comm_block_sums *by);
/* Whether the even and the odd blocks differ by no more than a factor of ratio. */
bool comm_blocks_agree(const struct comm_blocks *blocks, const struct comm_block_sums *sums,
		       double ratio);
/* Student's t for a central interval: a variance out of few blocks is itself uncertain. */
double comm_blocks_t(const struct comm_blocks *blocks, double confidence);

#endif
