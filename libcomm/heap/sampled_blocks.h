/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where memory was allocated, of processes that have libcomm-alloc.so: it enters some blocks in a table
 * (alloc/sampled.h), which is read here, and may be anything.  A table is read when somebody asks for a moment
 * after the last reading, so that what it said then holds for that moment.  Bounded: the process
 * that was not asked for longest gives way.  One thread uses it.
 */
#ifndef COMM_SAMPLED_BLOCKS_H
#define COMM_SAMPLED_BLOCKS_H

#include "inspect.h"

struct comm_sampled_blocks;

struct comm_sampled_reading {
	ssize_t (*read)(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes);
	uint64_t (*now_ns)(void *ctx); /* of the clock that events have */
	void *ctx;
};

int comm_sampled_blocks_create(const struct comm_sampled_reading *reading,
			       struct comm_sampled_blocks **ret);
void comm_sampled_blocks_destroy(struct comm_sampled_blocks *blocks);
/* The mappings of a process are these. */
void comm_sampled_blocks_look(struct comm_sampled_blocks *blocks, uint32_t tgid,
			      const struct comm_mapping *map, size_t n);
/* As inspect.h's allocation(); may_read: else -EAGAIN where that would be needed. */
int comm_sampled_blocks_at(struct comm_sampled_blocks *blocks, uint32_t tgid, uint64_t addr,
			   uint64_t time_ns, bool may_read, struct comm_allocation *ret);

#endif
