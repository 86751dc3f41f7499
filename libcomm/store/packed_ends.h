/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed ends: what a slice read without a known writer, by reading end (unwritten.h), as a row of the
 * store has it.  Of more ends than surely have room those with most bytes stay, the others are one.
 * Any thread.
 */
#ifndef COMM_PACKED_ENDS_H
#define COMM_PACKED_ENDS_H

#include "unwritten.h"

enum {
	/* SQLite takes rows of 64 KiB here (guard.c). */
	COMM_PACKED_ENDS_BYTES = 60 << 10,
	/* That surely have room in a row. */
	COMM_PACKED_ENDS = COMM_PACKED_ENDS_BYTES / COMM_UNWRITTEN_PACKED,
};

/* Ends in order; *ret is the caller's to free.  -ENOMEM. */
int comm_packed_ends(const struct comm_unwritten_end *end, size_t n, uint8_t **ret,
		     size_t *ret_bytes);

#endif
