/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who communicated with whom.  An actor is a thread within a site (a function,
 * or a source line) in a region; a cell holds the bytes
 * that one actor read of what another wrote, per object.  Actor 0 is nobody:
 * as a writer, memory that was never seen to be written; as a reader, all that
 * the writer wrote, whoever reads it.  Once there are frames, what was written in this one, in the one before, and
 * earlier has cells of its own.
 *
 * Cells never move, so callers may keep pointers to them.  All processes that came from one by fork() have them
 * in common, and each counts in those of its own actors.
 */
#ifndef COMM_EXACT_TABLE_H
#define COMM_EXACT_TABLE_H

#include <stdint.h>

#include "array.h"
#include "format.h"

struct comm_tool_actor {
	uint32_t thread, site;
	uint32_t region, path; /* that the thread was in (region.h, call.h); 0: none */
	uint64_t instructions, told_instructions; /* while counting; and in earlier phases */
};

struct comm_tool_cell {
	uint32_t writer, reader; /* actors; of the reader with comm_table_back() above it */
	uint32_t object;
	uint32_t next; /* in the hash chain, 0 ends it */
	uint64_t bytes;
	uint64_t first_bytes;
	uint64_t age_bytes[COMM_EXACT_AGES_MAX]; /* of bytes, by how long ago they were written */
	uint64_t told_bytes, told_first_bytes;	 /* of these, in earlier phases */
	uint64_t told_age_bytes[COMM_EXACT_AGES_MAX];
	/* Of dates.h: where bytes count that were written from date_ns on, for so long; at first nowhere. */
	struct comm_tool_cell *date;
	uint64_t date_ns, date_length_ns;
};

enum {
	COMM_TABLE_CACHE = 4096,
	COMM_TABLE_ACTORS = 1 << 24,
	COMM_TABLE_ACTORS_WITHIN = 1 << 22, /* once there are as many, new ones are in no region */
	COMM_TABLE_CELLS = 1 << 24,
	COMM_TABLE_BACK_SHIFT = 30,
};

_Static_assert(COMM_TABLE_ACTORS <= 1 << COMM_TABLE_BACK_SHIFT,
	       "what a cell's reader has room for");

/* Written in: 1 the frame in which it is read, 2 that before, 3 earlier; 0: there are no frames. */
static inline uint32_t comm_table_back(uint32_t reader)
{
	return reader >> COMM_TABLE_BACK_SHIFT;
}

static inline uint32_t comm_table_reader(uint32_t reader)
{
	return reader & ((1u << COMM_TABLE_BACK_SHIFT) - 1);
}

struct comm_table {
	struct comm_array actors, cells;
	/* This process's own cells. */
	uint32_t n_own;
	uint32_t *bucket;
	uint32_t n_buckets; /* a power of two */
	struct comm_tool_cell *cache[COMM_TABLE_CACHE];
	/* This process's own actors in regions, by hash; 0: free. */
	uint32_t n_within;
	uint32_t *within;
	uint32_t n_slots; /* a power of two */
};

void comm_table_init(struct comm_table *table);
void comm_table_deinit(struct comm_table *table);
/* In a child of fork(): no cell and no actor is its own. */
void comm_table_forked(struct comm_table *table);

uint32_t comm_table_add_actor(struct comm_table *table, const struct comm_tool_actor *actor);
/* The one in a region or a path; 0: there are too many already. */
uint32_t comm_table_actor_within(struct comm_table *table, const struct comm_tool_actor *actor);
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

/* Cells from 1 on; 0 is none.  One that another process is adding has no bytes. */
static inline struct comm_tool_cell *comm_table_at(const struct comm_table *table, uint32_t i)
{
	return comm_array_at(&table->cells, i);
}

#endif
