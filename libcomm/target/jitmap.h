/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of generated code, from the file that JIT compilers write for perf:
 * lines of "START SIZE name" in hexadecimal, only ever appended to.  Code that
 * took the place of other code comes later in the file and wins.
 */
#ifndef COMM_JITMAP_H
#define COMM_JITMAP_H

#include "names.h"
#include <stdint.h>
#include <sys/types.h>

struct comm_jitmap;

int comm_jitmap_create(struct comm_names *names, struct comm_jitmap **ret);
void comm_jitmap_destroy(struct comm_jitmap *map);

/*
 * Reads what was appended to the file since the last call; a file that shrank or
 * was replaced is read anew.  Reads at most 64 MiB per call.
 */
int comm_jitmap_read(struct comm_jitmap *map, int fd);
/* The same for text in memory; an unfinished last line is kept for the next call. */
int comm_jitmap_text(struct comm_jitmap *map, const char *text, size_t text_bytes);

/* The name of the code at addr and its bounds, or NULL. */
const char *comm_jitmap_find(struct comm_jitmap *map, uint64_t addr, uint64_t *ret_start,
			     uint64_t *ret_end);
size_t comm_jitmap_entries(const struct comm_jitmap *map);

#endif
