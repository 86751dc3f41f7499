/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folds: the rows of a report's slices, summed into edges between the nodes of
 * a grouping, with the account of what such edges leave out.  query.c reads the
 * rows and hands them over, slice by slice.
 */
#ifndef COMM_FOLD_H
#define COMM_FOLD_H

#include "account.h"
#include "blocks.h"
#include "edge_table.h"
#include "grouping.h"
#include "mix.h"
#include "report.h"
#include "slices.h"

struct comm_fold {
	const struct comm_query *query;
	struct comm_report_whole *whole;
	struct comm_report *report; /* &whole->shown */
	struct comm_grouping_use own;
	struct comm_grouping_use ends; /* writers and readers, when own's nodes are between them */
	struct comm_blocks blocks;
	struct comm_account account;
	bool across;  /* only what one thread wrote and another read */
	size_t slice; /* number of the current slice, from 1 */
	size_t block; /* that it is dealt to */
	/*
	 * Groups: src_thread and dst_thread hold the ids of the two nodes,
	 * src_site is enum part, object the reading thread.
	 */
	struct comm_edge_table groups;
	struct comm_edge_table
		pairs; /* bytes by writer's and reader's node; object is the node between */
	/*
	 * All that a node reads (of src_thread, if not 0), by dst_thread, src_site and, as object,
	 * whether the reading thread wrote it itself.
	 */
	struct comm_edge_table reads;
	struct comm_edge_table index; /* of nodes, by is_end and id; its order is theirs */
	struct comm_mixes mixes;      /* of edges */
	size_t end;		      /* of the current row, for mixes */
	struct comm_fold_seen *seen;  /* one per group */
	size_t n_seen;
};

/* What the slices tell of a group. */
struct comm_fold_seen {
	size_t slice;  /* the latest with a row of it */
	double most;   /* the largest number of bursts of a row, in that slice */
	double bursts; /* sum of most over the slices */
	uint32_t slices;
	double own_bytes;	     /* that the reading threads wrote themselves */
	struct comm_block_sums sums; /* of bytes */
};

/* query->by names the grouping; *err is set on failure.  Call deinit() also after a failure. */
int comm_fold_init(struct comm_fold *fold, const struct comm_query *query,
		   struct comm_reader *reader, struct comm_report_whole *whole, char **err);
void comm_fold_deinit(struct comm_fold *fold);

/* Begins a slice, in order of time: the rows that follow belong to it. */
int comm_fold_slice(struct comm_fold *fold, const struct comm_slices_one *slice);
/*
 * Adds a row; one that is not wanted counts only in what its nodes read.  When an
 * end belongs to several nodes the bytes are split by both ends' weights, as if
 * writer's and reader's node were independent.
 */
int comm_fold_row(struct comm_fold *fold, const struct comm_edge *row, bool wanted);
/* After the last row: makes the report's edges and nodes. */
int comm_fold_finish(struct comm_fold *fold);

#endif
