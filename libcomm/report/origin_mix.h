/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Origin mixes: at the reading end of an edge, what shares of the loads found their data where
 * (origin.h).  The store has origins by thread, context and object, whoever wrote what was
 * read there, and rows of edges by the same; so what an end's loads found is dealt out to
 * the edges as the bytes are that were read there, and an edge of the report sums up what its
 * rows' ends give it.  In one end all edges have the same mix.
 *
 * aggregate.c calls these for each row, in order of time; without origins in the run they do
 * nothing.
 */
#ifndef COMM_ORIGIN_MIX_H
#define COMM_ORIGIN_MIX_H

#include <sqlite3.h>

#include <comm/comm.h>

#include "blocks.h"
#include "edge.h"
#include "interval.h"
#include "keyed.h"
#include "origin.h"

enum { COMM_ORIGIN_MIX_SHARES = 3 + COMM_FROM_MAX - 1 }; /* three sums, and each known origin */

/* Of an edge, by its src_thread, dst_thread and src_site. */
struct comm_origin_mix {
	uint32_t from, to, column;
	struct comm_block_sums loads[COMM_FROM_MAX];
	double squares; /* of the loads that each sample of a known origin stands for */
	double timed_loads, timed_cycles;
};

/* What an edge has of the bytes that were read at an end. */
struct comm_origin_mix_share {
	uint32_t origin_mix, end; /* indices */
	double bytes;
};

struct comm_origin_mixes {
	sqlite3_stmt *ask; /* NULL: the run has no origins */
	/* By context: the slice's n_ends with origins, then others that were read at. */
	struct comm_origins ends;
	size_t n_ends;
	COMM_KEYED(shares, struct comm_origin_mix_share, share, n_shares); /* of the slice */
	COMM_KEYED(origin_mixes, struct comm_origin_mix, origin_mix, n);
};

/* mixes is zeroed before; call deinit() also after a failure. */
int comm_origin_mixes_init(struct comm_origin_mixes *origin_mixes, sqlite3 *db, int64_t run);
void comm_origin_mixes_deinit(struct comm_origin_mixes *origin_mixes);

/* Begins a slice; the one before must be closed. */
int comm_origin_mixes_begin(struct comm_origin_mixes *origin_mixes, int64_t slice);
/* Deals the slice's origins out to the edges, in that block of time. */
void comm_origin_mixes_close(struct comm_origin_mixes *origin_mixes, size_t block);
/* A row of the slice read so many bytes at its end; *ret is for add(). */
int comm_origin_mixes_read(struct comm_origin_mixes *origin_mixes, const struct comm_edge *row,
			   double bytes, size_t *ret_end);
/* Of these, so many are the edge's; edge: its src_thread, dst_thread and src_site. */
int comm_origin_mixes_add(struct comm_origin_mixes *origin_mixes, size_t end,
			  const uint32_t edge[3], double bytes);

/* NULL: nobody knows where the edge's loads found anything. */
const struct comm_origin_mix *comm_origin_mixes_of(struct comm_origin_mixes *origin_mixes,
						   const struct comm_edge *edge);
/* How many loads of equal weight the shares rest on. */
double comm_origin_mix_loads(const struct comm_origin_mix *origin_mix);
/* Mean latency of the loads that it was measured of, whatever their origin; 0: of none. */
double comm_origin_mix_latency(const struct comm_origin_mix *origin_mix);
/*
 * Shares of the loads whose origin is known: from another core that had written the line
 * ("hitm"), else from another socket ("remote"), else from this one ("local"), which
 * together are all; then by each known origin.  Intervals are Wilson's, of so many loads
 * as the blocks of time leave where these differ by more than chance (Wilson, Probable
 * inference, the law of succession, and statistical inference, JASA 22, 1927).
 */
void comm_origin_mix_shares(const struct comm_origin_mix *origin_mix,
			    const struct comm_intervals *intervals,
			    struct comm_report_origin ret[COMM_ORIGIN_MIX_SHARES]);

#endif
