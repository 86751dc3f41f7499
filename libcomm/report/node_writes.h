/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each node of a report wrote, whoever reads it, and read in all, for totals.h.  Writes are
 * known of runs that counted them (unwritten.h), and of nodes that a write has by itself: of a
 * type or of a frame it is not known what was written, as these are of what is read.  Under a
 * filter by who accesses it is not known either, since writers and readers of a node are of
 * different threads and functions.
 */
#ifndef COMM_NODE_WRITES_H
#define COMM_NODE_WRITES_H

#include <sqlite3.h>

#include "grouping.h"
#include "id_sums.h"
#include "row_filter.h"
#include "slices.h"

struct comm_node_writes {
	sqlite3_stmt *ask; /* for the rows of a slice; NULL: what is written is not known */
	bool counted;	   /* a row was there */
	bool folded; /* of some rows' writes it is not known whose they are: of none the sum is known */
	struct comm_id_sums writes, reads; /* by node */
};

int comm_node_writes_init(struct comm_node_writes *writes, const struct comm_query *query,
			  const struct comm_grouping_use *own, sqlite3 *db, int64_t run);
/* A zeroed one is closed. */
void comm_node_writes_deinit(struct comm_node_writes *writes);

/* Takes the rows of the slice that was begun last. */
int comm_node_writes_slice(struct comm_node_writes *writes, struct comm_grouping_use *own,
			   const struct comm_filter *filter, const struct comm_slices_one *slice);
/* Takes what these nodes read, whoever wrote it. */
int comm_node_writes_read(struct comm_node_writes *writes, const struct comm_shares *nodes,
			  double bytes);
/* *ret < 0: it is not known. */
int comm_node_writes_of(struct comm_node_writes *writes, uint32_t node, double *ret);
/* All that the node reads, but for what nobody was seen to write. */
int comm_node_writes_reads_of(struct comm_node_writes *writes, uint32_t node, double *ret);

#endif
