/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of the targets' heaps, as their allocators keep them (allocator.h).  A block is told only after two
 * readings of its piece of memory agreed on it, AGREE_NS apart at least: what is read while the
 * program allocates may be of different moments.  So is the class of what is in it (block_class.h).  Reads nothing of its own accord, but what is asked
 * for, and no more than it was allowed.  Bounded: the oldest of what it knows gives way.  One
 * thread uses it.
 */
#ifndef COMM_HEAP_BLOCKS_H
#define COMM_HEAP_BLOCKS_H

#include "maps.h"
#include "names.h"

struct comm_heap_blocks;

struct comm_heap_reading {
	ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes);
	uint64_t (*now_ns)(void *ctx);
	uint64_t (*spent_ns)(void *ctx); /* CPU time that reading has cost so far */
	/* Optional.  The variable of a file at addr, as inspect.h's data(). */
	int (*variable)(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			struct comm_static *ret);
	void *ctx;
	struct comm_names *names; /* for those of classes; outlives the blocks */
};

int comm_heap_blocks_create(const struct comm_heap_reading *reading, struct comm_heap_blocks **ret);
void comm_heap_blocks_destroy(struct comm_heap_blocks *blocks);
/* Lets so much more CPU time go into reading; UINT64_MAX: as much as a fixed part of the time. */
void comm_heap_blocks_allow(struct comm_heap_blocks *blocks, uint64_t cpu_ns);

/* What is asked about, and where in its process. */
struct comm_heap_place {
	uint64_t addr;
	/* That addr is in, with what the kernel shows as another one beside it, though it is one heap. */
	const struct comm_mapping *m;
	const struct comm_range *zeroed; /* comm_maps_zeroed() of the process */
	size_t n_zeroed;
	const struct comm_mapping *map; /* all mappings of the process, in order of address */
	size_t n_map;
	bool has_python; /* comm_maps_has_python() of the process */
};

/* As inspect.h's blocks(). */
int comm_heap_blocks_at(struct comm_heap_blocks *blocks, uint32_t tgid,
			const struct comm_heap_place *place, struct comm_blocks_found *ret);
/* As inspect.h's allocation(), of an allocator that keeps a profile of its heap.  -ENOSYS: none does there. */
int comm_heap_blocks_site(struct comm_heap_blocks *blocks, uint32_t tgid,
			  const struct comm_heap_place *place, uint64_t time_ns,
			  struct comm_allocation *ret);

#endif
