/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sharing: is a cache line shared truly, by threads that use the same bytes of it, or falsely,
 * by threads that use different ones?  Only arithmetic: rows are cachelines.h's.
 *
 * An access is contended when another thread writes in the line, or when it writes and another
 * thread uses the line: the line may be in that one's cache then.  Of what a thread does with some
 * bytes at most as many accesses are so as the others come to the line, and a thread comes as
 * often as it uses those bytes of it that it uses most: so a word that is written a thousand times and
 * added up once is hardly contended.  An access is contended truly as far as the others come for
 * bytes of its own, falsely as far as they come for others alone.
 */
#ifndef COMM_LINE_SHARING_H
#define COMM_LINE_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMM_LINE_SHARING_CELLS = 256 }; /* of one line, that are looked at */

/* What a thread does with some bytes of a line. */
struct comm_line_sharing_cell {
	uint32_t thread;
	uint64_t bytes; /* bit i: byte i of the line */
	bool write;
	double accesses;
	double contended; /* of accesses; comm_line_sharing_judge() sets it */
};

struct comm_line_sharing {
	double accesses, contended, truly; /* truly: of contended */
};

/* A thread's cells are adjacent; those of COMM_ID_OTHER are taken for different threads'. */
void comm_line_sharing_judge(struct comm_line_sharing_cell *cell, size_t n,
			     struct comm_line_sharing *ret);

/* Bits for size_bytes from first on, which are within the line. */
uint64_t comm_line_sharing_bytes(uint32_t first, uint32_t size_bytes);

#endif
