/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of a report: how much of each counter fell to each of its nodes (model/count.h). */
#ifndef COMM_NODE_COUNTS_H
#define COMM_NODE_COUNTS_H

#include <comm/comm.h>

#include "grouping.h"
#include "slices.h"

/* -EINVAL, and *err: threads do not belong to one node each, and regions are not asked for. */
int comm_node_counts_check(const struct comm_grouping_use *use, char **err);
/*
 * Sums the counts of the cover's slices by node.  -ENODATA, and *err: the run has none.  *ret is
 * malloc'ed.
 */
int comm_node_counts_load(struct comm_grouping_use *use, const struct comm_slices *slices,
			  struct comm_report_count **ret, size_t *ret_n, char **err);

#endif
