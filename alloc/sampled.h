/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libcomm-alloc.so keeps in a process: which memory was allocated where, of allocations that are drawn by
 * their bytes.  The library writes it and commd reads it from outside, while it changes: no lock is shared.
 *
 * An ELF note of owner "commprof" and type COMM_ALLOC_NOTE holds the distance, in 8 bytes, from these
 * to the struct comm_alloc_table.
 *
 * A block is entered as BUSY; its origin is written, then the block, and last until_ns.  So what was
 * read is of one moment if the origin, read after the block, has the same start, size and time.
 */
#ifndef COMM_ALLOC_SAMPLED_H
#define COMM_ALLOC_SAMPLED_H

#include <stdint.h>

enum {
	COMM_ALLOC_NOTE = 3,
	COMM_ALLOC_VERSION = 1,
	COMM_ALLOC_BLOCKS = 4096,
	COMM_ALLOC_WORDS = 24,
};

/* In until_ns; a place that nobody had yet is all zeros. */
#define COMM_ALLOC_BUSY UINT64_C(1)
#define COMM_ALLOC_LIVE UINT64_MAX

/* Times are of CLOCK_MONOTONIC. */
struct comm_alloc_block {
	uint64_t start, size_bytes; /* as it was asked for */
	uint64_t since_ns, until_ns;
};

/* Who asked for it; the stack of that function may lead to others. */
struct comm_alloc_origin {
	uint64_t start, size_bytes, since_ns; /* of the block that this is of */
	uint64_t code;			      /* behind the call */
	uint64_t sp, rbp;		      /* there */
	uint64_t n_words;
	uint64_t word[COMM_ALLOC_WORDS]; /* from sp on */
};

struct comm_alloc_table {
	uint32_t version; /* 0: it has not been initialised */
	uint32_t n_blocks;
	uint64_t changes; /* grows with each */
	struct comm_alloc_block block[COMM_ALLOC_BLOCKS];
	struct comm_alloc_origin origin[COMM_ALLOC_BLOCKS];
};

#endif
