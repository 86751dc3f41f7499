/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An aggregate: the rows of a report's slices, summed into edges between the nodes of
 * a grouping, with the breakdown of what such edges leave out.  query.c reads the
 * rows and hands them over, slice by slice.
 */
#ifndef COMM_AGGREGATE_H
#define COMM_AGGREGATE_H

#include "blocks.h"
#include "breakdown.h"
#include "census_nodes.h"
#include "edge_table.h"
#include "grouping.h"
#include "id_sums.h"
#include "node_lengths.h"
#include "node_writes.h"
#include "origin_mix.h"
#include "report.h"
#include "slices.h"
#include "unseen_nodes.h"

/* What the slices tell of a group. */
struct comm_aggregate_seen {
	size_t slice;		     /* the latest with a row of it */
	double most;		     /* the largest number of bursts of a row, in that slice */
	uint8_t in_blocks;	     /* of that slice: where it was seen */
	double bursts;		     /* sum of most over the slices */
	uint32_t slices;	     /* where it was seen; a slice of parts counts as its strands */
	double own_bytes;	     /* that the reading threads wrote themselves */
	struct comm_block_sums sums; /* of bytes */
};

/* What one thread reads as the node to, or as part of it, of what the node from wrote. */
struct comm_aggregate_group {
	uint32_t from, to, part, reader; /* part: enum part */
	uint8_t level;
	double bytes, variance, doubt_bytes;
	struct comm_aggregate_seen seen;
};

struct comm_aggregate {
	const struct comm_query *query;
	struct comm_report_whole *whole;
	struct comm_report *report; /* &whole->shown */
	struct comm_grouping_use own;
	struct comm_grouping_use ends; /* writers and readers, when own's nodes are between them */
	struct comm_blocks blocks;
	struct comm_breakdown breakdown;
	bool across;		   /* only what one thread wrote and another read */
	double known_bytes;	   /* between threads; by code without across also within them */
	size_t slice;		   /* number of the current slice, from 1 */
	size_t block;		   /* that it is dealt to, or the first of its strands */
	struct comm_block_sums at; /* of the current row's bytes, the blocks' shares */
	struct comm_block_sums slice_at; /* of the slice's time */
	uint8_t in_blocks;		 /* a bit for each that has a share of the former */
	bool by_code; /* rows are parts of what threads hand over: their sites count */
	COMM_KEYED(groups, struct comm_aggregate_group, group, n_groups);
	struct comm_id_sums pairs; /* by writer's and reader's node, and the node between */
	/*
	 * All that a node reads, by the node between (0: of any), the node, enum part, and whether
	 * the reading thread wrote it itself.
	 */
	struct comm_id_sums reads;
	struct comm_id_sums index;	       /* of nodes, by is_end and id; its order is theirs */
	struct comm_origin_mixes origin_mixes; /* of edges */
	size_t end;			       /* of the current row, for mixes */
	const uint8_t *dates;		       /* of the current row, packed */
	size_t dates_bytes;
	struct comm_id_sums selfs; /* with totals: what nodes read of themselves, by node */
	struct comm_unseen_nodes unseen;
	struct comm_census_nodes census;
	struct comm_node_writes writes;	  /* with totals */
	struct comm_node_lengths lengths; /* likewise */
};

/* Of whose nodes writers and readers are. */
const struct comm_grouping_use *comm_aggregate_ends(const struct comm_aggregate *aggregate);
/* Whether the report tells times apart: then rows need their ages, and slices be narrow. */
bool comm_aggregate_by_time(const struct comm_aggregate *aggregate);
/* Whether a slice's strands tell as much as the parts that they are made of. */
bool comm_aggregate_takes_strands(const struct comm_aggregate *aggregate);
/* query->by names the grouping; *err is set on failure.  Call deinit() also after a failure. */
int comm_aggregate_init(struct comm_aggregate *aggregate, const struct comm_query *query,
			struct comm_reader *reader, struct comm_report_whole *whole, char **err);
void comm_aggregate_deinit(struct comm_aggregate *aggregate);

/* Begins a slice, in order of time: the rows that follow belong to it. */
int comm_aggregate_slice(struct comm_aggregate *aggregate, const struct comm_slices_one *slice);
/* In a slice of parts: the packed strands of the next row, as the store has them. */
void comm_aggregate_strands(struct comm_aggregate *aggregate, const uint8_t *packed, size_t n);
/* Likewise its dates, which stay the caller's. */
void comm_aggregate_dates(struct comm_aggregate *aggregate, const uint8_t *packed, size_t n);
/*
 * Adds a row; one that is not wanted counts only in what its nodes read.  When an
 * end belongs to several nodes the bytes are split by both ends' weights, as if
 * writer's and reader's node were independent.
 */
int comm_aggregate_row(struct comm_aggregate *aggregate, const struct comm_edge *row, bool wanted);
/* For totals.h, when edges are made: what the reader of an edge reads, of what it wrote itself or of all else. */
int comm_aggregate_reads(struct comm_aggregate *aggregate, const struct comm_edge *edge, bool own,
			 double *ret);
/* The node of whose reads that is. */
uint32_t comm_aggregate_reads_of(struct comm_aggregate *aggregate, const struct comm_edge *edge);
/* What a node reads of itself, where the report leaves that out. */
int comm_aggregate_own(struct comm_aggregate *aggregate, uint32_t node, double *ret);
/* Whether the writer or the reader of an edge is an end, not a node between. */
bool comm_aggregate_is_end(const struct comm_edge *edge, bool writer);
/* Finds the node with that id, or makes it; *ret is its index. */
int comm_aggregate_node(struct comm_aggregate *aggregate, bool is_end, uint32_t id, size_t *ret);
/* The same of the writer's or the reader's node. */
int comm_aggregate_writer(struct comm_aggregate *aggregate, const struct comm_edge *edge,
			  size_t *ret);
int comm_aggregate_reader(struct comm_aggregate *aggregate, const struct comm_edge *edge,
			  size_t *ret);

#endif
