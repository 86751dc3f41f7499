/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of shared memory: a program that lays out its shared memory by itself keeps static
 * variables that lead to what it put there.  A part is what lies from where one of them leads to
 * where the next one does, and has the variable's name.  Not for memory with less than two such
 * variables: that is one thing, and has its mapping's name.
 *
 * A variable counts if two readings found the same in it, of different processes where the memory
 * has several, and none found another: what is another in each process ("my slot") or goes through the
 * memory (a cursor) marks no part.  Readings become rarer.  What is read is hostile, and how much is
 * bounded: the memory that was asked about least recently gives way.  One thread uses it.
 */
#ifndef COMM_SHARED_PARTS_H
#define COMM_SHARED_PARTS_H

#include "inspect.h"

struct comm_shared_parts;

/* As heap_blocks.h has them. */
struct comm_shared_reading {
	ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes);
	uint64_t (*now_ns)(void *ctx);
	int (*variable)(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			struct comm_static *ret);
	void *ctx;
};

/* Shared memory, and the process that has it mapped. */
struct comm_shared_place {
	uint32_t tgid;
	const struct comm_mapping *m;
	const struct comm_mapping *map; /* all mappings of the process, in order of address */
	size_t n_map;
};

int comm_shared_parts_create(const struct comm_shared_reading *reading,
			     struct comm_shared_parts **ret);
void comm_shared_parts_destroy(struct comm_shared_parts *parts);

/* Whether a mapping is memory that may have parts. */
bool comm_shared_parts_may_have(const struct comm_mapping *m);
/* Whether the process's variables are to be read now, and that. */
bool comm_shared_parts_due(struct comm_shared_parts *parts, const struct comm_shared_place *place);
void comm_shared_parts_read(struct comm_shared_parts *parts, const struct comm_shared_place *place);
/*
 * The parts in the piece of COMM_PIECE_BYTES that addr is in, as inspect.h's blocks(): each by the
 * name of its variable for a class.  -ENOENT: it has none, or none that are known yet.
 */
int comm_shared_parts_at(struct comm_shared_parts *parts, const struct comm_shared_place *place,
			 uint64_t addr, struct comm_blocks_found *ret);

#endif
