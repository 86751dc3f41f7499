/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwritten: reads of data that was never seen to be written, whose writer is unknown, by reading
 * end, a thread's at a site of an object.  Estimators and exact results sum them for a slice, the
 * store for wider ones, and a report states them by its nodes.  What writing ends wrote, and how long code
 * was, is kept in the same form where it was counted.  One thread uses a table.
 */
#ifndef COMM_UNWRITTEN_H
#define COMM_UNWRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyed.h"

struct comm_unwritten_end {
	uint32_t thread, site, object;
	double bytes, first_bytes; /* as of an edge: all reads, and first ones */
};

/* The reads of a slice. */
struct comm_unwritten {
	double bytes, first_bytes;
	double polled_bytes; /* of bytes: read over and over by who waits for a write (window.h) */
	/* By whom, each end once; what of the sums they lack is of ends that are not known. */
	const struct comm_unwritten_end *end;
	size_t n_ends;
};

/* What was written in a slice, whoever reads it, by writing end; no ends: nobody counted it. */
struct comm_written {
	const struct comm_unwritten_end *end; /* first_bytes 0 */
	size_t n_ends;
};

/* How much of a counter fell to a slice's code, by end; no ends: nobody counted it. */
struct comm_lengths {
	const struct comm_unwritten_end *end; /* bytes: the amount; object and first_bytes 0 */
	size_t n_ends;
	uint32_t counter; /* index or id of its name, as the user says */
};

/* By thread, site and object. */
struct comm_unwritten_ends {
	COMM_KEYED(keyed, struct comm_unwritten_end, end, n);
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_unwritten_ends_deinit(struct comm_unwritten_ends *table);
void comm_unwritten_ends_clear(struct comm_unwritten_ends *table);
/* Adds the sums of an end to the same one of the table.  -ENOMEM. */
int comm_unwritten_ends_add(struct comm_unwritten_ends *table,
			    const struct comm_unwritten_end *end);
/*
 * Keeps the cap ends with most bytes and sums the others up in one without thread, site and
 * object.  *ret_folded grows by these.
 */
void comm_unwritten_ends_fold(struct comm_unwritten_ends *table, size_t cap, uint64_t *ret_folded);
/* Orders by thread, site and object. */
void comm_unwritten_ends_sort(struct comm_unwritten_ends *table);

/*
 * Packed for the store: of each end, in order, five numbers of seven bits a byte, the last of
 * which is less than 128: how much larger than before it the thread is, and the site, or all of
 * it for another thread; the object; bytes and first_bytes.  These are whole ones, of which what
 * is cut off goes to the next end, so that sums stay what they are.
 */
enum { COMM_UNWRITTEN_PACKED = 3 * 5 + 2 * 10 }; /* at most, for an end */

/* Ends in order; packed has room for n of them.  Returns the bytes used. */
size_t comm_unwritten_pack(const struct comm_unwritten_end *end, size_t n, uint8_t *packed);

struct comm_unwritten_unpack {
	const uint8_t *at, *end;
	struct comm_unwritten_end last;
};

/* Begin with at and end alone set; both may be NULL.  False: there is no further end, or what follows is no end. */
bool comm_unwritten_next(struct comm_unwritten_unpack *unpack, struct comm_unwritten_end *ret);

#endif
