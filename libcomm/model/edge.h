/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edges: how many of the bytes that dst read were last written by src.
 * Estimators and exact results give edges, a store holds them.  Same-thread edges
 * count too (functions communicate with themselves and with each other);
 * reports leave them out unless asked.
 */
#ifndef COMM_EDGE_H
#define COMM_EDGE_H

#include <stdint.h>

#include "age.h"
#include "strand.h"

/*
 * Back-off levels: when no writer of a datum was seen, the writers of its
 * surroundings stand for its own.  Level 0 is the datum itself, each further level
 * covers eight times as much, the last one the whole object.  What is known by that alone is
 * not known well enough to be an edge: it is unwritten (unwritten.h).
 */
enum {
	COMM_LEVEL_OBJECT = 6,
	COMM_LEVELS,
};

/*
 * How unsure an estimator is of who wrote an edge's bytes: sums over its reads of their bytes times
 * the chance that somebody else did.  Which of them counts is a matter of what edges are summed by.
 */
struct comm_doubts {
	float thread; /* another thread */
	float role;   /* a thread of another role, or side */
	float side; /* the reading thread, where another one is said to, or the other way around */
	float code; /* other code, of whatever thread */
};

static inline void comm_doubts_add(struct comm_doubts *to, const struct comm_doubts *doubts,
				   double weight)
{
	to->thread += (float)(weight * doubts->thread);
	to->role += (float)(weight * doubts->role);
	to->side += (float)(weight * doubts->side);
	to->code += (float)(weight * doubts->code);
}

struct comm_edge {
	uint32_t src_thread, src_site;
	uint32_t dst_thread, dst_site;
	uint32_t object;
	uint32_t bursts;    /* distinct bursts of the reader that the edge rests on */
	uint8_t level;	    /* deepest back-off level used, see above */
	double bytes;	    /* all reads */
	double variance;    /* of bytes: sampling only */
	double first_bytes; /* first read of a datum since its last write */
	double first_variance;
	/*
	 * What variance lacks where sums by sites and objects are meant: bytes that stand for those
	 * of other sites (edge_table.h).  Sums by threads are as they were.
	 */
	double drawn_variance;
	struct comm_doubts doubts;
	/*
	 * Bytes read that watchpoints saw src write, whatever the estimator says: another
	 * estimate of the same, by chances alone (watched.h).
	 */
	double watched_bytes, watched_variance;
	/* How long before the read src wrote the bytes, as far as known. */
	struct comm_ages ages;
	/* Of bytes, in a wide slice of a store; else empty. */
	struct comm_strands strands;
};

typedef void comm_edge_fn(void *ctx, const struct comm_edge *edge);

#endif
