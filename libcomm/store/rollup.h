/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Roll-up: sums slices into wider ones (a minute, an hour, a day by default),
 * deletes narrow slices older than detail_ns, and makes room when the store is full.
 * Readers of long ranges are fast because of the wide slices: they are written
 * when their time is over, out of sums kept in memory, so narrow slices are not
 * read back.  Used by store.c alone, outside of its transactions.
 */
#ifndef COMM_ROLLUP_H
#define COMM_ROLLUP_H

#include "edge_table.h"
#include "rows.h"

enum {
	COMM_ROLLUP_LEVELS = 3,
	/* Edges kept in a wide slice, as a multiple of row_cap. */
	COMM_ROLLUP_KEEP = 4,
	/* Cells summed in memory, as a multiple of the edges kept. */
	COMM_ROLLUP_SLACK = 4,
};

/* The slice of one level that is being summed. */
struct comm_rollup_open {
	struct comm_edge_table cells;
	struct comm_placements placements;
	struct comm_origins origins;
	struct comm_unwritten_ends unwritten, written, lengths;
	struct comm_counts counts;
	struct comm_cachelines cachelines;
	struct comm_census census;
	struct comm_slice_info info; /* sums over the parts; start of the first, end of the last */
	uint64_t index; /* the slice's number in the run, in units of the level's width */
	uint32_t parts;
};

/*
 * Makes room for so many rows, outside of transactions, by comm_rollup_make_room() among other means; attempts count
 * from 0.  False: there is none to be made.
 */
typedef bool comm_rollup_room_fn(void *ctx, int attempt, int64_t want);

struct comm_rollup {
	sqlite3 *db;
	comm_rollup_room_fn *make_room; /* the store's; NULL: none is made for wide slices */
	void *ctx;
	struct comm_rows rows;
	uint32_t row_cap;
	uint64_t detail_ns;
	uint64_t width_ns[COMM_ROLLUP_LEVELS];
	int64_t run; /* 0: none */
	uint64_t run_start_ns;
	struct comm_rollup_open open[COMM_ROLLUP_LEVELS];
};

int comm_rollup_init(struct comm_rollup *rollup, sqlite3 *db,
		     const struct comm_store_config *config);
void comm_rollup_deinit(struct comm_rollup *rollup);

void comm_rollup_begin(struct comm_rollup *rollup, int64_t run, uint64_t start_ns);
/*
 * Sums a slice that was committed, and writes the wide slices that it completes.
 * Room for these is made as for any other slice: one that is missing would leave its parts, which nothing repeats,
 * in the place of older data.  On another error it is missing; no data is lost.
 */
int comm_rollup_add(struct comm_rollup *rollup, const struct comm_slice_info *info,
		    const struct comm_edge *edges, size_t n);
/* The run is over: writes the incomplete wide slices. */
int comm_rollup_finish(struct comm_rollup *rollup);
/*
 * Deletes at least want edges, in this order: parts of wide slices, oldest first;
 * older runs; the current run's own oldest slices, whose time is added to the
 * run's deleted_ns.  Returns edges and slices deleted; 0: there is nothing left.
 */
int64_t comm_rollup_make_room(struct comm_rollup *rollup, int64_t want);
/*
 * Deletes a run, oldest slices first, in several transactions: what is cut off between two
 * leaves a run that begins later.  -ENODATA: there is no such run.
 */
int comm_rollup_drop_run(struct comm_rollup *rollup, int64_t run);

#endif
