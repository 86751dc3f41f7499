/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groupings: what stands for a node of a report.  A grouping tells to which
 * nodes the ends of an edge belong, and what a store knows of such a node.  It
 * is one file in grouping/ and one line in COMM_GROUPINGS; whoever sums rows
 * into edges (fold.c) names none of them.
 */
#ifndef COMM_GROUPING_H
#define COMM_GROUPING_H

#include <comm/comm.h>

#include "id_map.h"
#include "reader.h"
#include "texts.h"

/* One end of a row of table edge. */
struct comm_end {
	uint32_t thread, context, object;
};

/* A node that an end belongs to, and how much of the end. */
struct comm_share {
	uint32_t id; /* of the node in its grouping; COMM_ID_OTHER: not known which */
	double weight;
};

/*
 * All nodes that an end belongs to: weights are positive and their sum is 1, so
 * that no byte is lost or counted twice.
 */
struct comm_shares {
	const struct comm_share *share; /* until the next slice */
	size_t n;
	struct comm_share one; /* room for whoever needs no more */
};

static inline void comm_shares_one(struct comm_shares *shares, uint32_t id)
{
	shares->one = (struct comm_share){id, 1};
	shares->share = &shares->one;
	shares->n = 1;
}

struct comm_grouping_ops;

/* A grouping at work on one report. */
struct comm_grouping_use {
	const struct comm_grouping_ops *ops;
	struct comm_reader *reader;
	const struct comm_run *run;
	struct comm_texts *texts; /* the report's */
	struct comm_id_map map;	  /* for the grouping to fill; freed with the use */
	void *state;		  /* the grouping's own, which its close() frees */
	sqlite3_stmt *row;
};

struct comm_grouping_ops {
	struct comm_grouping grouping;
	enum comm_node_kind kind;
	const char *kind_name;
	char letter; /* that ids of nodes begin with */
	/*
	 * NULL: an edge goes from a node of this grouping to another one.  Else
	 * the nodes of this one stand between those of ends: thread -> object ->
	 * thread.
	 */
	const struct comm_grouping_ops *ends;
	/*
	 * Optional.  -ENODATA: the run does not know what this grouping needs,
	 * and *err, which only then is set, says what that is.
	 */
	int (*open)(struct comm_grouping_use *use, char **err);
	void (*close)(struct comm_grouping_use *use);
	/* Optional.  The ends that follow are of rows of that slice. */
	int (*slice)(struct comm_grouping_use *use, int64_t slice);
	/* Where nodes stand between ends, end is the reading one. */
	int (*at)(struct comm_grouping_use *use, const struct comm_end *end,
		  struct comm_shares *ret);
	/* Gives the row that tells of node ?2 in run ?1. */
	const char *sql;
	/*
	 * Fills in, of a node that is zero but for what all have in common, its
	 * name, its key (comm.h) and what its kind has besides.
	 */
	int (*describe)(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node);
};

/* In this order users are told of them; the first is the default. */
#define COMM_GROUPINGS(X) \
	X(thread)         \
	X(function)       \
	X(line)           \
	X(object)         \
	X(cpu)            \
	X(process)        \
	X(role)           \
	X(region)

#define COMM_GROUPING_DECLARE(name) extern const struct comm_grouping_ops comm_grouping_##name;
COMM_GROUPINGS(COMM_GROUPING_DECLARE)

/* NULL: the default.  Returns NULL when there is none of that name. */
const struct comm_grouping_ops *comm_grouping_find(const char *name);

/* On failure use is closed, and *err set. */
int comm_grouping_open(struct comm_grouping_use *use, const struct comm_grouping_ops *ops,
		       struct comm_reader *reader, const struct comm_run *run,
		       struct comm_texts *texts, char **err);
/* A zeroed use is a closed one. */
void comm_grouping_close(struct comm_grouping_use *use);
/* Makes node the one of that id. */
int comm_grouping_describe(struct comm_grouping_use *use, uint32_t id, struct comm_node *node);

#endif
