/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each node of a report read whose writer was not seen (unwritten.h).  Where nodes are between
 * writers and readers it counts at both, the reader and what was read.  Summed while an aggregate takes
 * slices, if its query asks for it.
 */
#ifndef COMM_UNSEEN_NODES_H
#define COMM_UNSEEN_NODES_H

#include <stdbool.h>

#include <sqlite3.h>

#include "edge_table.h"
#include "grouping.h"
#include "row_filter.h"
#include "slices.h"

struct comm_unseen_nodes {
	sqlite3_stmt *ask; /* for the rows of a slice; NULL: nobody asks */
	bool first_read;   /* only first reads count */
	/*
	 * dst_thread holds a node's id, src_thread whether it is an end beside nodes between; bytes
	 * has what is unwritten.
	 */
	struct comm_edge_table nodes;
};

int comm_unseen_nodes_init(struct comm_unseen_nodes *unseen, bool first_read, sqlite3 *db,
			   int64_t run);
/* A zeroed one is closed. */
void comm_unseen_nodes_deinit(struct comm_unseen_nodes *unseen);

/*
 * Takes the rows of the slice that was begun last, as nodes of own and, if these are between
 * writers and readers, of ends.  What the rows lack counts at "(other)".
 */
int comm_unseen_nodes_slice(struct comm_unseen_nodes *unseen, struct comm_grouping_use *own,
			    struct comm_grouping_use *ends, const struct comm_filter *filter,
			    const struct comm_slices_one *slice);

#endif
