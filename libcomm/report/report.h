/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report as the library holds it: the struct comm_report that programs see, and
 * the arrays behind it, which programs reach through comm.h's functions alone, so
 * that the arrays' elements can grow.
 */
#ifndef COMM_REPORT_H
#define COMM_REPORT_H

#include <comm/comm.h>

#include "blocks.h"
#include "error_model.h"
#include "interval.h"
#include "texts.h"

/* Where the bytes that were read went, in the order of comm_report_part_at(). */
enum comm_part {
	COMM_PART_OTHERS, /* total_bytes: to edges between different nodes, or to all with self */
	COMM_PART_SELF,
	COMM_PART_WITHIN,
	COMM_PART_UNSEEN, /* the rest of unwritten_bytes */
	COMM_PART_FOLDED,
	COMM_PART_UNASKED, /* of threads that the query does not ask for */
	COMM_PART_POLLED,  /* polled_bytes */
	COMM_PARTS,
};

/* An edge, and what its interval is made of. */
struct comm_report_stated {
	struct comm_report_edge edge; /* first member: edges are put in order by themselves */
	struct comm_estimate estimate;
};

struct comm_report_whole {
	struct comm_report shown; /* first member: programs hold a pointer to it */
	struct comm_run run;
	struct comm_error_model error_model;	 /* of the run's estimator, or of watches */
	struct comm_error_model estimator_model; /* of cache lines, which bursts tell of */
	bool by_chance;				 /* of watches: drawn in all places alike */
	struct comm_node *nodes;
	struct comm_report_stated *edges;
	struct comm_blocks blocks;	/* of the estimates' sums */
	struct comm_interval_sums sums; /* of the edges */
	struct comm_report_loss *losses;
	struct comm_report_slice *slices;
	struct comm_report_part parts[COMM_PARTS];
	struct comm_report_origin *origins;
	struct comm_report_place *places;
	struct comm_report_cacheline *cachelines;
	struct comm_report_cacheline_use *cacheline_uses;
	struct comm_report_count *counts;
	struct comm_report_total *totals;
	struct comm_report_census *census;
	struct comm_texts texts; /* names, keys and nodes that the others point to */
};

/* NULL when there is no memory.  Freed by comm_report_free(&whole->shown). */
struct comm_report_whole *comm_report_create(void);

#endif
