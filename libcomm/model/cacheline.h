/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared cache lines: 64 bytes of memory that several threads use and one of them writes, and
 * who uses which bytes of them.  The engine hands out those of a slice, the store sums them for
 * wider ones, and a report tells false sharing from true by them.  Not for finding them
 * (contention.h), nor for lines of source code.  One thread uses a table.
 */
#ifndef COMM_CACHELINE_H
#define COMM_CACHELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyed.h"

enum { COMM_CACHELINE_BYTES = 64 };

struct comm_cacheline {
	uint64_t datum;	 /* of its first byte; a multiple of 64 */
	uint64_t bursts; /* that met it */
	uint64_t turns; /* of these, by another thread than the one before, and one of both wrote */
};

/* What a thread does at a site with some bytes of a line. */
struct comm_cacheline_use {
	uint64_t datum; /* of the first of these bytes */
	uint32_t thread, site;
	uint8_t size_bytes; /* 1 to 64, within the line */
	bool write;
	uint32_t object;
	int64_t offset; /* of the first byte in its object; -1: not known */
	uint64_t bursts;
	double accesses; /* that these bursts stand for */
};

struct comm_cachelines {
	COMM_KEYED(lines, struct comm_cacheline, line, n_lines);  /* by datum */
	COMM_KEYED(uses, struct comm_cacheline_use, use, n_uses); /* by all before the object */
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_cachelines_deinit(struct comm_cachelines *table);
void comm_cachelines_clear(struct comm_cachelines *table);
/*
 * Both add to what the table has under the same key; *ret_at, unless NULL, is its place.
 * -ENOMEM.
 */
int comm_cachelines_add(struct comm_cachelines *table, const struct comm_cacheline *line,
			size_t *ret_at);
int comm_cachelines_add_use(struct comm_cachelines *table, const struct comm_cacheline_use *use,
			    size_t *ret_at);
/*
 * Keeps the lines with the most turns, whole, as long as they have at most cap uses together;
 * *ret_dropped grows by the uses of the others.  -ENOMEM.
 */
int comm_cachelines_fold(struct comm_cachelines *table, size_t cap, uint64_t *ret_dropped);
/* Orders both by key, as a B-tree takes them cheapest. */
void comm_cachelines_sort(struct comm_cachelines *table);

/* The first byte of the line that has that datum. */
static inline uint64_t comm_cacheline_of(uint64_t datum)
{
	return datum & ~(uint64_t)(COMM_CACHELINE_BYTES - 1);
}

#endif
