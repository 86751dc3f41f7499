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

#include "node_ends.h"

struct comm_node_writes {
	struct comm_node_ends writes;
	struct comm_id_sums reads; /* by node */
};

int comm_node_writes_init(struct comm_node_writes *writes, const struct comm_query *query,
			  const struct comm_grouping_use *own, sqlite3 *db, int64_t run);
/* A zeroed one is closed. */
void comm_node_writes_deinit(struct comm_node_writes *writes);

/* Takes what these nodes read, whoever wrote it. */
int comm_node_writes_read(struct comm_node_writes *writes, const struct comm_shares *nodes,
			  double bytes);
/* All that the node reads, but for what nobody was seen to write. */
int comm_node_writes_reads_of(struct comm_node_writes *writes, uint32_t node, double *ret);

#endif
