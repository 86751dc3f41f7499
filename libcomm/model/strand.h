/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strands: the parts of a wide slice, such as the minutes of an hour, dealt out in turn, so that
 * each strand is spread over the whole slice.  What each has of a sum tells how much the sum varies
 * within the slice, though its parts are added up: a report, which deals slices out to blocks of
 * time (libcomm/report/blocks.h), takes the strands in place of the parts.  Not for sums of
 * anything but edges' bytes, a slice's time and what it has without a writer.
 */
#ifndef COMM_STRAND_H
#define COMM_STRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COMM_STRANDS = 8,
	COMM_STRANDS_PACKED = 4 * COMM_STRANDS,
};

struct comm_strands {
	float sum[COMM_STRANDS];
};

/* Adds other's strands, the first of them to that one; the rest follow in turn. */
void comm_strands_add(struct comm_strands *strands, const struct comm_strands *other, size_t first);
/* Whether there is nothing in any. */
bool comm_strands_is_empty(const struct comm_strands *strands);
/* For a store. */
void comm_strands_pack(const struct comm_strands *strands, uint8_t ret_packed[COMM_STRANDS_PACKED]);
/* Gives the strands' shares of their sum.  False: these are no strands; a store may be hostile. */
bool comm_strands_unpack(const uint8_t packed[COMM_STRANDS_PACKED], double ret_share[COMM_STRANDS]);

#endif
