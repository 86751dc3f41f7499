// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of CPython's allocator of small objects, 3.10 to 3.13 (Objects/obmalloc.c, Include/internal/pycore_obmalloc.h,
 * "struct pool_header"), which takes up to 512 bytes.  It has anonymous memory cut into pools of 16 KiB, aligned to that, each for
 * blocks of one size, and its header says how many are in use.  Blocks that were given back are a list,
 * and those behind a mark were never given out.  So all but these are in use, and as many must they be.
 */
#include "allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	POOL_BYTES = 1 << 14,
	HEADER_BYTES = 48,
	ALIGNMENT = 16,
	SIZES = 32,
	BLOCKS_MOST = (POOL_BYTES - HEADER_BYTES) / ALIGNMENT,
	POOLS = 1024, /* known to be pools, of a mapping; powers of two */
};

_Static_assert((int)POOL_BYTES == (int)COMM_PIECE_BYTES, "a pool is a piece");

struct pool_header {
	uint32_t n_used, unused;
	uint64_t free; /* the first block that was given back; 0: none */
	uint64_t next, prev;
	uint32_t arena, size_index;
	uint32_t fresh,
		fresh_most; /* where the first block is that was never given out, and the last one */
};

_Static_assert(sizeof(struct pool_header) == HEADER_BYTES, "a pool's header");

struct pymalloc {
	uint64_t pool[POOLS];
};

static uint32_t bytes_of(const struct pool_header *pool)
{
	return (pool->size_index + 1) * ALIGNMENT;
}

static bool is_pool(const struct pool_header *pool)
{
	uint32_t bytes, blocks;

	if (pool->size_index >= SIZES)
		return false;
	bytes = bytes_of(pool);
	blocks = (POOL_BYTES - HEADER_BYTES) / bytes;
	return pool->fresh_most == POOL_BYTES - bytes && pool->fresh > HEADER_BYTES &&
	       pool->fresh <= POOL_BYTES && (pool->fresh - HEADER_BYTES) % bytes == 0 &&
	       pool->n_used <= blocks;
}

static bool pymalloc_range(const struct comm_heap_place *place, struct comm_range *ret)
{
	const struct comm_mapping *m = place->m;

	*ret = (struct comm_range){m->start, m->end};
	return place->has_python && m->kind == COMM_MAP_ANON && m->readable && m->writable &&
	       !m->shared && !m->path[0];
}

/* Its arenas are beside others' memory, so each pool is looked at. */
static int pymalloc_open(const struct comm_marks_memory *memory,
			 const struct comm_heap_place *place, const struct comm_range *area,
			 void **ret)
{
	(void)memory;
	(void)place;
	(void)area;
	*ret = calloc(1, sizeof(struct pymalloc));
	return *ret ? 0 : -ENOMEM;
}

static size_t pymalloc_state_bytes(const void *state)
{
	(void)state;
	return sizeof(struct pymalloc);
}

static uint64_t *known(struct pymalloc *py, uint64_t pool)
{
	return &py->pool[pool / POOL_BYTES & (POOLS - 1)];
}

static int pymalloc_enter(void *state, const struct comm_marks_memory *memory,
			  const struct comm_range *area, uint64_t piece, uint64_t *ret)
{
	struct pymalloc *py = state;
	struct pool_header pool;
	ssize_t n;

	*ret = 0;
	if (piece < area->start || piece >= area->end)
		return -ENODATA;
	if (*known(py, piece) == piece)
		return 0;
	n = memory->read(memory->ctx, piece, &pool, sizeof(pool));
	if (n < 0)
		return (int)n;
	if (n != sizeof(pool) || !is_pool(&pool))
		return -ENODATA;
	*known(py, piece) = piece;
	return 0;
}

/* Of a list that must be as long as what is not in use; it may go round in circles. */
static int find_free(const struct comm_seen *seen, const struct pool_header *pool,
		     uint64_t is_free[BLOCKS_MOST / 64 + 1])
{
	uint32_t bytes = bytes_of(pool), blocks = (pool->fresh - HEADER_BYTES) / bytes;
	uint64_t at = pool->free;

	for (uint32_t left = blocks - pool->n_used; left; left--) {
		uint64_t from = at - seen->start, i = (from - HEADER_BYTES) / bytes;

		if (from < HEADER_BYTES || from >= pool->fresh || (from - HEADER_BYTES) % bytes ||
		    is_free[i / 64] >> i % 64 & 1)
			return -EPROTO;
		is_free[i / 64] |= UINT64_C(1) << i % 64;
		memcpy(&at, seen->bytes + from, sizeof(at));
	}
	return at ? -EPROTO : 0;
}

static int pymalloc_read(void *state, const struct comm_marks_memory *memory,
			 const struct comm_range *area, uint64_t piece, bool is_far,
			 struct comm_block_list *ret)
{
	uint64_t is_free[BLOCKS_MOST / 64 + 1] = {0};
	struct comm_seen *seen = ret->seen;
	struct pool_header pool;
	uint32_t bytes;
	ssize_t n;
	int err;

	(void)area;
	(void)is_far;
	ret->n = 0;
	n = memory->read(memory->ctx, piece, seen->bytes, POOL_BYTES);
	if (n < 0)
		return (int)n;
	seen->start = piece;
	seen->n = (size_t)n;
	memcpy(&pool, seen->bytes, sizeof(pool));
	if (n != POOL_BYTES || !is_pool(&pool)) {
		*known(state, piece) = 0;
		return -EPROTO;
	}
	bytes = bytes_of(&pool);
	if (pool.n_used > (pool.fresh - HEADER_BYTES) / bytes)
		return -EPROTO;
	err = find_free(seen, &pool, is_free);
	if (err)
		return err;
	for (uint32_t i = 0, at = HEADER_BYTES; at < pool.fresh; i++, at += bytes)
		if (!(is_free[i / 64] >> i % 64 & 1))
			ret->block[ret->n++] = (struct comm_block){
				.start = piece + at,
				.size_bytes = bytes,
				.least_bytes = bytes - ALIGNMENT + 1,
			};
	return 0;
}

const struct comm_allocator_ops comm_pymalloc = {
	.range = pymalloc_range,
	.open = pymalloc_open,
	.close = free,
	.state_bytes = pymalloc_state_bytes,
	.enter = pymalloc_enter,
	.read = pymalloc_read,
};
