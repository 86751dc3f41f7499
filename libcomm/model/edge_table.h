/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edge tables: cells, which are edges summed by their key (threads, sites,
 * object).  The store merges slices into wider ones in such a table, the reader
 * groups a report in one.  Not for estimating: a table knows nothing of
 * accesses.  One thread uses a table.
 */
#ifndef COMM_EDGE_TABLE_H
#define COMM_EDGE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "edge.h"
#include "keyed.h"

struct comm_edge_table {
	COMM_KEYED(keyed, struct comm_edge, edge, n);
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_edge_table_deinit(struct comm_edge_table *cells);
void comm_edge_table_clear(struct comm_edge_table *cells);

/* Finds the cell with key's ids, or makes one with zero values.  -ENOMEM. */
int comm_edge_table_at(struct comm_edge_table *cells, const struct comm_edge *key,
		       struct comm_edge **ret);
/*
 * Adds bytes, variances and bursts to the edge's cell; keeps the deeper level.  Values
 * that are no finite positive number count as 0.
 */
int comm_edge_table_add(struct comm_edge_table *cells, const struct comm_edge *edge);
/*
 * Keeps the largest cells by bytes.  Of the others of each pair of threads a few stand for
 * all, drawn so that no sum by sites or objects changes on average and none by threads
 * at all; estimated and watched bytes are drawn each by themselves.  Where the others are of
 * more than cap pairs, they are folded into cells of their two threads without site and object, and if those are too many, the smallest become
 * (thread, other).  At most 2 * cap + 2 * threads cells remain.  *ret_folded
 * grows by the cells that lost their key.
 */
int comm_edge_table_fold(struct comm_edge_table *cells, size_t cap, uint64_t *ret_folded);
/* Orders cells by key, as a B-tree takes them cheapest. */
void comm_edge_table_sort(struct comm_edge_table *cells);

#endif
