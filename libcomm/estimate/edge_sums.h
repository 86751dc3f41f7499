/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The edges of a slice while they are summed up.  Contributions come burst by
 * burst, because the variance is one of distinct bursts: accesses of one burst
 * are no independent observations.  Each edge's variance is its covariance
 * with all that the burst gave to the same pair of threads, so that the sum
 * over the edges of a pair of threads is the variance of their sum.
 *
 * Bounded: when full, new edges are folded into site 0 of the same threads,
 * and when that has no place either, into one edge from and to thread 0, which
 * always has one.  Nothing is lost, and what was folded is counted.
 */
#ifndef COMM_EDGE_SUMS_H
#define COMM_EDGE_SUMS_H

#include "estimator.h"

struct comm_edge_sums;

struct comm_edge_key {
	uint32_t src_thread, src_site;
	uint32_t dst_thread, dst_site;
	uint32_t object;
};

int comm_edge_sums_create(uint64_t memory_bytes, struct comm_edge_sums **ret);
void comm_edge_sums_destroy(struct comm_edge_sums *map);

/* All contributions between two calls of end_burst() are of one reader. */
void comm_edge_sums_add(struct comm_edge_sums *map, const struct comm_edge_key *key, double bytes,
			double first_bytes, uint8_t level);
/* What is known of bytes besides whose they are. */
struct comm_edge_known {
	const struct comm_ages *ages; /* the share of each; NULL: no age is known */
	struct comm_doubts doubts;    /* chances: shares of the bytes */
};
/* The same with what else is known of the bytes. */
void comm_edge_sums_add_known(struct comm_edge_sums *map, const struct comm_edge_key *key,
			      double bytes, double first_bytes, uint8_t level,
			      const struct comm_edge_known *known);
void comm_edge_sums_end_burst(struct comm_edge_sums *map);
/* Contributions that were folded, ever. */
uint64_t comm_edge_sums_folded(const struct comm_edge_sums *map);
/* Hands out every edge in order of first appearance, and empties the map. */
void comm_edge_sums_emit(struct comm_edge_sums *map, comm_edge_fn *emit, void *ctx);

#endif
