/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A saved piece of a perf map: between jitread.c, which saves it, and jitmap.c, which loads
 * it.  For nobody else.
 */
#ifndef COMM_JIT_PIECE_H
#define COMM_JIT_PIECE_H

#include "jitmap.h"

enum {
	JIT_COMPLETE = 0x7469706a, /* "jpit" */
	JIT_LINE_BYTES_MAX = 4096, /* longer ones are skipped */
	JIT_LINE_BYTES_MIN = 6,	   /* "1 1 x" and its end */
	JIT_LINES_MAX = COMM_JIT_PIECE_BYTES / JIT_LINE_BYTES_MIN + 1,
};

struct jit_range {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* into text */
	uint32_t seq;  /* line in the file: of overlapping entries the later wins */
	uint32_t zero;
};

/* How a saved piece starts; ranges, by start and none twice, and text follow. */
struct jit_piece {
	uint64_t complete;	     /* JIT_COMPLETE */
	struct comm_jit_place place; /* after it */
	uint64_t anew;		     /* 1: read from the start of a file, what was known is void */
	uint64_t more;
	uint64_t n, n_lines, text_bytes;
};

_Static_assert(COMM_JIT_SAVED_MAX >= sizeof(struct jit_piece) +
					     JIT_LINES_MAX * sizeof(struct jit_range) +
					     COMM_JIT_PIECE_BYTES,
	       "the largest piece can be saved");

#endif
