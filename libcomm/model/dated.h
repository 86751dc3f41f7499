/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dates: when the bytes of a slice's edges were written, where that was counted.  An instant stands for all that was
 * written in one slice of the run: it is that slice's middle.  Not for estimates, which know ages by their
 * factor (age.h).  One thread uses a table.
 */
#ifndef COMM_DATED_H
#define COMM_DATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edge.h"
#include "keyed.h"

enum {
	COMM_DATED_PACKED = 16, /* bytes of a packed date */
	/* Of an edge, those that a row of a store has room for; the bytes of others are of a time not known. */
	COMM_DATED_MAX = 3000,
};

/* Of an edge's bytes, those written at about that time. */
struct comm_dated {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t src_thread, dst_thread, src_site, dst_site, object;
	uint32_t zero; /* of the key as well */
	double bytes;
};

/* By edge and time. */
struct comm_dates {
	COMM_KEYED(keyed, struct comm_dated, date, n);
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_dates_deinit(struct comm_dates *dates);
void comm_dates_clear(struct comm_dates *dates);
/* Sums bytes, which may be negative in between.  -ENOMEM. */
int comm_dates_add(struct comm_dates *dates, const struct comm_dated *date);
/* Orders them by edge, as edge_table.h orders these, and by time. */
void comm_dates_sort(struct comm_dates *dates);

/* <0, 0, >0: the date's edge is before, is, or is behind that one. */
int comm_dated_compare(const struct comm_dated *date, const struct comm_edge *edge);

/*
 * For a store: the dates of one edge, COMM_DATED_PACKED bytes each, two numbers; those without bytes are left out, and the first where
 * there are more than COMM_DATED_MAX.  Returns the length.
 */
size_t comm_dates_pack(const struct comm_dated *date, size_t n, uint8_t *ret_packed);

/* Reads packed dates, which may be hostile: no more bytes than the edge has. */
struct comm_dates_unpack {
	const uint8_t *at, *end;
	double left; /* bytes of the edge that have no date yet */
};

/* False: there is none any more. */
bool comm_dates_next(struct comm_dates_unpack *unpack, uint64_t *ret_at_ns, double *ret_bytes);

#endif
