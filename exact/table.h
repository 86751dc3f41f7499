/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who communicated with whom.  An actor is a thread within a site (a function,
 * a source line, or one numbered call of a function); a cell holds the bytes
 * that one actor read of what another wrote, per object.  Actor 0 is nobody:
 * memory that was never seen to be written.
 *
 * Cells never move, so callers may keep pointers to them.
 */
#ifndef COMM_EXACT_TABLE_H
#define COMM_EXACT_TABLE_H

#include <stdint.h>

struct comm_tool_actor {
	uint32_t thread, site;
	uint32_t call; /* 0: the site's calls are not told apart */
};

struct comm_tool_cell {
	uint32_t writer, reader; /* actors */
	uint32_t object;
	uint32_t next; /* in the hash chain, 0 ends it */
	uint64_t bytes;
	uint64_t first_bytes;
};

enum {
	COMM_TABLE_SLAB_CELLS = 1024,
	COMM_TABLE_CACHE = 4096,
};

struct comm_table {
	struct comm_tool_actor *actor;
	uint32_t n_actors, actor_capacity;
	struct comm_tool_cell **slab;
	uint32_t n_cells, slab_capacity;
	uint32_t *bucket;
	uint32_t n_buckets; /* a power of two */
	struct comm_tool_cell *cache[COMM_TABLE_CACHE];
};

void comm_table_init(struct comm_table *table);
void comm_table_deinit(struct comm_table *table);

uint32_t comm_table_add_actor(struct comm_table *table, uint32_t thread, uint32_t site,
			      uint32_t call);
struct comm_tool_cell *comm_table_find(struct comm_table *table, uint32_t writer, uint32_t reader,
				       uint32_t object);

static inline uint32_t comm_table_hash(uint32_t writer, uint32_t reader, uint32_t object)
{
	uint64_t h = ((uint64_t)writer << 32 | reader) * 0x9e3779b97f4a7c15ull;

	h = (h ^ object) * 0xff51afd7ed558ccdull;
	return h >> 32;
}

static inline struct comm_tool_cell *comm_table_cell(struct comm_table *table, uint32_t writer,
						     uint32_t reader, uint32_t object)
{
	uint32_t hash = comm_table_hash(writer, reader, object);
	struct comm_tool_cell **slot = &table->cache[hash & (COMM_TABLE_CACHE - 1)];
	struct comm_tool_cell *cell = *slot;

	if (cell->writer == writer && cell->reader == reader && cell->object == object)
		return cell;
	return *slot = comm_table_find(table, writer, reader, object);
}

/* Cells 1..n_cells - 1; 0 is none. */
static inline struct comm_tool_cell *comm_table_at(const struct comm_table *table, uint32_t i)
{
	return &table->slab[i / COMM_TABLE_SLAB_CELLS][i % COMM_TABLE_SLAB_CELLS];
}

#endif
