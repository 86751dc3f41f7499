/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of packed ends (unwritten.h) by the nodes of a report that they are of: what nodes wrote
 * (node_writes.h), and how long they were (node_lengths.h).
 */
#ifndef COMM_NODE_ENDS_H
#define COMM_NODE_ENDS_H

#include <sqlite3.h>

#include "grouping.h"
#include "id_sums.h"
#include "row_filter.h"
#include "slices.h"

/* A zeroed one is closed, and knows nothing. */
struct comm_node_ends {
	sqlite3_stmt *ask; /* for the rows of a slice; NULL: nothing is known */
	bool counted;	   /* a row was there */
	bool folded; /* of some rows' sums it is not known whose they are: of none the sum is known */
	struct comm_id_sums sums; /* by node */
};

/* sql: the ends of slice ?2 in run ?1, a row for each part. */
int comm_node_ends_init(struct comm_node_ends *ends, sqlite3 *db, int64_t run, const char *sql);
void comm_node_ends_deinit(struct comm_node_ends *ends);
/* Takes the rows of the slice that was begun last; filter NULL: all. */
int comm_node_ends_slice(struct comm_node_ends *ends, struct comm_grouping_use *own,
			 const struct comm_filter *filter, const struct comm_slices_one *slice);
/* *ret < 0: it is not known. */
int comm_node_ends_of(struct comm_node_ends *ends, uint32_t node, double *ret);

/* Adds to a sum of each of these nodes, by its weight. */
int comm_node_sums_add(struct comm_id_sums *sums, const struct comm_shares *nodes, double bytes);
int comm_node_sum_of(struct comm_id_sums *sums, uint32_t node, double *ret);

#endif
