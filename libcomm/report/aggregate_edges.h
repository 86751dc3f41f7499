/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The edges of a report, its nodes, census and totals, out of an aggregate that has all rows.
 * The aggregate does not know of them: it sums.
 */
#ifndef COMM_AGGREGATE_EDGES_H
#define COMM_AGGREGATE_EDGES_H

#include "aggregate.h"

/* Once, after the last row: fills what aggregate->whole shows. */
int comm_aggregate_edges_make(struct comm_aggregate *aggregate);

#endif
