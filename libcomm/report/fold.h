/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folds: the rows of a report's slices, summed into edges between the nodes of
 * a grouping, with the account of what such edges leave out.  Which rows there
 * are, and in what order, is query.c's business.
 */
#ifndef COMM_FOLD_H
#define COMM_FOLD_H

#include "edge_table.h"
#include "grouping.h"
#include "report.h"

struct comm_fold {
	const struct comm_query *query;
	struct comm_report_whole *whole;
	struct comm_report *report; /* &whole->shown */
	struct comm_grouping_use own;
	struct comm_grouping_use ends; /* where nodes of own stand between these */
	size_t slice;		       /* counts them, from 1 */
	/*
	 * Groups: src_thread and dst_thread hold the ids of the two nodes,
	 * src_site is enum part, object the reading thread.
	 */
	struct comm_edge_table groups;
	struct comm_edge_table pairs;  /* ends, and as object the node between them */
	struct comm_edge_table coarse; /* coarse_bytes, keyed as groups but for the thread */
	struct comm_edge_table reads;  /* all that a node reads, by dst_thread and src_site */
	struct comm_edge_table index;  /* of nodes: side and id, in their order */
	struct comm_fold_bursts {
		size_t slice;
		double most;  /* of a row, in that slice */
		double total; /* of slices */
	} * bursts;	      /* one per group */
	size_t n_bursts;
};

/* query->by tells the grouping; *err is set on failure.  deinit also after that. */
int comm_fold_init(struct comm_fold *fold, const struct comm_query *query,
		   struct comm_reader *reader, struct comm_report_whole *whole, char **err);
void comm_fold_deinit(struct comm_fold *fold);

/* The rows that follow are of that slice. */
int comm_fold_slice(struct comm_fold *fold, int64_t slice);
/*
 * A row that is not wanted counts only in what its nodes read.  Bytes of a row
 * whose ends belong to several nodes are split by both ends' weights, as if
 * writer and reader chose independently.
 */
int comm_fold_row(struct comm_fold *fold, const struct comm_edge *row, bool wanted);
/* After the last row: the report's edges and nodes. */
int comm_fold_finish(struct comm_fold *fold);

#endif
