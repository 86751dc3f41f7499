/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of generated code, from the file that JIT compilers write for perf:
 * lines of "START SIZE name" in hexadecimal.  Most only append: code that took the place of other
 * code comes later in the file and wins.  Others write the file anew, in place, with whatever there is then.
 *
 * A file is read piece by piece: each piece by a child process (comm_jit_read), which saves what
 * it found, sorted, for the daemon to merge into its map (comm_jitmap_load).
 */
#ifndef COMM_JITMAP_H
#define COMM_JITMAP_H

#include "names.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	COMM_JIT_PIECE_BYTES = 4 << 20,	  /* of the file, read at once */
	COMM_JIT_CHECKED_BYTES = 1 << 20, /* in front of where it is read on */
	COMM_JIT_SAVED_MAX = 24 << 20,	  /* bytes of the largest saved piece */
};

/* How far a file was read. */
struct comm_jit_place {
	uint64_t dev, ino, offset;
	uint64_t skipping; /* 1: inside of a line that is too long */
	uint64_t check;	   /* what the bytes in front of offset were, hashed */
};

/* Memory that all maps may take together; the owner sets max_bytes. */
struct comm_jit_budget {
	uint64_t bytes, max_bytes;
};

struct comm_jitmap;

int comm_jitmap_create(struct comm_names *names, struct comm_jit_budget *budget,
		       struct comm_jitmap **ret);
void comm_jitmap_destroy(struct comm_jitmap *map);

/*
 * Reads on from a place and saves what was found.  A file that shrank, was replaced or is
 * not what it was in front of that place is read from its start.
 */
int comm_jit_read(int fd, const struct comm_jit_place *from, int to);
/*
 * Merges what comm_jit_read() saved; the process that did may be in the hands of the file.
 * *ret_more: the file has more.  -ENODATA: damaged; -ENOSPC: there is no room in all maps
 * together; -E2BIG: the map is full.  Then nothing was merged.
 */
int comm_jitmap_load(struct comm_jitmap *map, int saved, bool *ret_more);
/* Where to read on. */
const struct comm_jit_place *comm_jitmap_place(const struct comm_jitmap *map);

/* The name of the code at addr and its bounds, or NULL. */
const char *comm_jitmap_find(const struct comm_jitmap *map, uint64_t addr, uint64_t *ret_start,
			     uint64_t *ret_end);
size_t comm_jitmap_entries(const struct comm_jitmap *map);

#endif
