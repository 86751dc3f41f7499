/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groupings: what a node of a report stands for.  A grouping tells to which
 * nodes the ends of an edge belong, and describes a node by what the store has of
 * it.  Each is one file in grouping/ and one line in COMM_GROUPINGS; aggregate.c, which
 * sums rows into edges, knows no particular one.
 */
#ifndef COMM_GROUPING_H
#define COMM_GROUPING_H

#include <comm/comm.h>

#include "age.h"
#include "dated.h"
#include "id_map.h"
#include "reader.h"
#include "slices.h"
#include "texts.h"

/* The writing or the reading end of a row of the store's table edge. */
struct comm_end {
	uint32_t thread, context, object;
	uint32_t read; /* of either end: the context of the reading one, which tells a type */
	/* Of a writing end, which parts of the row are of each age; NULL: a reading end. */
	const struct comm_ages *ages;
	/* Likewise: of the row's bytes, packed dates (dated.h); 0 bytes: the ages are all that is known. */
	const uint8_t *dates;
	size_t dates_bytes;
	double bytes; /* of the row: more than 0, and finite */
};

/* A node that an end belongs to, and how much of the end. */
struct comm_share {
	uint32_t id; /* of the node in its grouping; COMM_ID_OTHER: unknown */
	double weight;
};

enum { COMM_SHARES_OWN = 68 };

/*
 * All nodes that an end belongs to: weights are positive and their sum is 1, so
 * that no byte is lost or counted twice.
 */
struct comm_shares {
	const struct comm_share *share; /* valid until the next slice */
	size_t n;
	struct comm_share own[COMM_SHARES_OWN]; /* storage of share, where they are that few */
};

static inline void comm_shares_one(struct comm_shares *shares, uint32_t id)
{
	shares->own[0] = (struct comm_share){id, 1};
	shares->share = shares->own;
	shares->n = 1;
}

struct comm_grouping_ops;

/* The use of a grouping for one report. */
struct comm_grouping_use {
	const struct comm_grouping_ops *ops;
	const char *by;	   /* as asked for; valid in open() alone */
	uint64_t piece_ns; /* likewise, as of comm_query */
	struct comm_reader *reader;
	const struct comm_run *run;
	struct comm_texts *texts; /* the report's */
	struct comm_id_map map;	  /* for the grouping to fill; freed with the use */
	void *state;		  /* the grouping's own, which its close() frees */
	bool by_time;		  /* set by open(): nodes are of times, so slices must be narrow */
	bool by_frame;		  /* and these are the program's frames */
	bool by_thread;	    /* what node an end belongs to does not go by its site or object */
	bool tells_threads; /* what two threads do is of two nodes */
	bool tells_roles;   /* what threads of two roles do */
	bool of_reads;	    /* nodes are of what is read: a write by itself has none */
	bool of_data;	    /* nodes are of what is accessed: code by itself has none */
	sqlite3_stmt *row;
};

struct comm_grouping_ops {
	struct comm_grouping grouping;
	enum comm_node_kind kind;
	const char *kind_name;
	char letter; /* first letter of the nodes' ids: the t of "t12" */
	/*
	 * NULL: edges go from node to node of this grouping.  Else the nodes of this
	 * grouping are between writers and readers, which are nodes of ends: thread ->
	 * object -> thread.
	 */
	const struct comm_grouping_ops *ends;
	/*
	 * Optional.  -ENODATA: the run lacks what this grouping needs, and *err, which
	 * is set in this case only, says what.
	 */
	int (*open)(struct comm_grouping_use *use, char **err);
	void (*close)(struct comm_grouping_use *use);
	/* Optional.  Begins a slice: at() is called for ends of its rows. */
	int (*slice)(struct comm_grouping_use *use, const struct comm_slices_one *slice);
	/* An end may have more nodes than COMM_SHARES_OWN. */
	bool many;
	bool by_thread; /* initial value of the use's */
	bool by_role;	/* and threads that are alike have one */
	bool of_reads;	/* likewise */
	bool of_data;	/* likewise */
	/* Gives the nodes of end.  Where nodes are between ends, end is the reader's. */
	int (*at)(struct comm_grouping_use *use, const struct comm_end *end,
		  struct comm_shares *ret);
	/* Optional.  The node that node id is within, COMM_ID_OTHER: none; for totals.h. */
	int (*around)(struct comm_grouping_use *use, uint32_t id, uint32_t *ret);
	/*
	 * Optional.  The node of which all reads count as what an edge to node id may be
	 * mistaken for (interval.c); else that is id itself.
	 */
	uint32_t (*first)(struct comm_grouping_use *use, uint32_t id);
	/* SQL for the row, for describe(), of node ?2 in run ?1. */
	const char *sql;
	/*
	 * Sets a node's name, its key (comm_node.key) and the fields that only its kind
	 * has; the others are set already or zero.
	 */
	int (*describe)(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node);
};

/* All groupings, in the order of comm_groupings(); the first is the default. */
#define COMM_GROUPINGS(X) \
	X(thread)         \
	X(function)       \
	X(line)           \
	X(object)         \
	X(cpu)            \
	X(node)           \
	X(process)        \
	X(role)           \
	X(region)         \
	X(outermost)      \
	X(phase)          \
	X(time)           \
	X(frame)          \
	X(frames)         \
	X(type)           \
	X(struct)         \
	X(caller)         \
	X(path)

#define COMM_GROUPING_DECLARE(name) extern const struct comm_grouping_ops comm_grouping_##name;
COMM_GROUPINGS(COMM_GROUPING_DECLARE)

/* Of names joined by commas; not in the table, since it is none by itself. */
extern const struct comm_grouping_ops comm_grouping_joined;

enum { COMM_JOINED_MAX = 4 };

/* name NULL: the default grouping.  NULL: there is none of that name.  May be several, "a,b". */
const struct comm_grouping_ops *comm_grouping_find(const char *name);

/* by: as comm_grouping_find() was asked for ops.  On failure use is closed, and *err set. */
int comm_grouping_open(struct comm_grouping_use *use, const struct comm_grouping_ops *ops,
		       const char *by, uint64_t piece_ns, struct comm_reader *reader,
		       const struct comm_run *run, struct comm_texts *texts, char **err);
/* A zeroed use is a closed one. */
void comm_grouping_close(struct comm_grouping_use *use);
/*
 * For open(): -ENODATA, with "run N " and what it lacks in *err, where sql gives no row for the run
 * (?1), or -errno.
 */
int comm_grouping_need(struct comm_grouping_use *use, const char *sql, const char *lacks,
		       char **err);
/* The same where nodes are of the program's frames, and what it may lack is these. */
int comm_grouping_need_frames(struct comm_grouping_use *use, char **err);
/* The same where nodes are of callers. */
int comm_grouping_need_callers(struct comm_grouping_use *use, char **err);
/* Sets all fields of the node with that id. */
int comm_grouping_describe(struct comm_grouping_use *use, uint32_t id, struct comm_node *node);

#endif
