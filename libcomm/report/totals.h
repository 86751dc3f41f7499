/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Totals: what each node of a report wrote that others read, and read that others wrote, with
 * intervals as an edge has; where nodes are within each other, with all nodes within it, too.
 * They are sums of the report's edges, whose errors are taken to be independent but for what
 * they have in common: the blocks of time and the readers.
 */
#ifndef COMM_TOTALS_H
#define COMM_TOTALS_H

#include "aggregate.h"
#include "interval.h"

/* Fills whole->totals out of all edges, of which seen has one each. */
int comm_totals_make(struct comm_aggregate *aggregate, const struct comm_edge_table *edges,
		     const struct comm_aggregate_seen *seen,
		     const struct comm_intervals *intervals);

#endif
