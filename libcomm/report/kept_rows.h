/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept rows: edges of slices that a reader has read, for the reports that it is asked for
 * next.  A program that follows a run asks for the newest minute again and again, of which one
 * slice is new.  What a slice has never changes, and its id is never given to another.
 * Not for slices with strands, which are few, nor for rows with ages.
 */
#ifndef COMM_KEPT_ROWS_H
#define COMM_KEPT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge.h"

enum {
	COMM_KEPT_ROWS_MAX = 1 << 20, /* of all slices; 72 bytes each */
};

/* What a report takes of an edge; sites are contexts. */
struct comm_kept_row {
	uint32_t src_thread, src_site, dst_thread, dst_site, object, bursts;
	double bytes, variance, drawn_variance;
	struct comm_doubts doubts;
	uint8_t level;
};

struct comm_kept_slice {
	int64_t run, id;
	struct comm_kept_row *row;
	size_t n, capacity;
	uint64_t used; /* number of the latest report that took it; 0: this is none */
};

/* What the bytes and variances of kept rows are of. */
enum comm_kept_bytes {
	COMM_KEPT_ALL,
	COMM_KEPT_FIRST,
	COMM_KEPT_FRESH,
};

struct comm_kept_rows {
	struct comm_kept_slice *slice; /* by id; NULL: nothing is kept yet */
	size_t capacity;	       /* of all slices, in rows */
	uint64_t report;	       /* number of the current one */
	enum comm_kept_bytes bytes;
};

/* Zeroed, nothing is kept; deinit leaves it so. */
void comm_kept_rows_deinit(struct comm_kept_rows *kept);
/* Another report begins: of all reads or of first reads. */
void comm_kept_rows_begin(struct comm_kept_rows *kept, enum comm_kept_bytes bytes);
/* The slice, if all of its rows are kept, or NULL. */
const struct comm_kept_slice *comm_kept_rows_find(struct comm_kept_rows *kept, int64_t run,
						  int64_t id);
/*
 * A place for the rows of a slice that is about to be read; NULL: none is kept for it, as in a
 * reader's first two reports.  A slice that is not read to its end is to be dropped.
 */
struct comm_kept_slice *comm_kept_rows_new(struct comm_kept_rows *kept, int64_t run, int64_t id);
/* False: there is no room, and the slice was dropped. */
bool comm_kept_rows_add(struct comm_kept_rows *kept, struct comm_kept_slice *slice,
			const struct comm_edge *row);
void comm_kept_rows_drop(struct comm_kept_rows *kept, struct comm_kept_slice *slice);

static inline void comm_kept_row_get(const struct comm_kept_row *kept, struct comm_edge *ret)
{
	ret->src_thread = kept->src_thread;
	ret->src_site = kept->src_site;
	ret->dst_thread = kept->dst_thread;
	ret->dst_site = kept->dst_site;
	ret->object = kept->object;
	ret->bursts = kept->bursts;
	ret->level = kept->level;
	ret->bytes = kept->bytes;
	ret->variance = kept->variance;
	ret->drawn_variance = kept->drawn_variance;
	ret->doubts = kept->doubts;
}

#endif
