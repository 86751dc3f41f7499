/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long each node of a report was, for totals.h: how much of a counter fell to its code, as the run counted it
 * by code (the table "length").  Nodes of data have none, nor has a report of certain threads or functions, of
 * whose nodes the length may be another one.
 */
#ifndef COMM_NODE_LENGTHS_H
#define COMM_NODE_LENGTHS_H

#include "node_ends.h"

struct comm_node_lengths {
	struct comm_node_ends ends;
	int64_t counter; /* that they are of */
};

/* A zeroed one is closed. */
int comm_node_lengths_init(struct comm_node_lengths *lengths, const struct comm_query *query,
			   const struct comm_grouping_use *own, sqlite3 *db, int64_t run);
void comm_node_lengths_deinit(struct comm_node_lengths *lengths);
/*
 * After the slices: the counter that lengths are of; *ret NULL: none of it was counted there, or a hostile store does
 * not name it, and no length is known.
 */
int comm_node_lengths_unit(struct comm_node_lengths *lengths, struct comm_texts *texts,
			   const char **ret);

#endif
