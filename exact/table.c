/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table.h"

#include <stddef.h>

#include "memory.h"

enum {
	FIRST_BUCKETS = 4096,
};

static void add_slab(struct comm_table *table)
{
	uint32_t n = table->n_cells / COMM_TABLE_SLAB_CELLS;

	if (n >= table->slab_capacity) {
		table->slab_capacity = table->slab_capacity ? 2 * table->slab_capacity : 16;
		table->slab =
			comm_mem_realloc(table->slab, table->slab_capacity * sizeof(*table->slab));
	}
	table->slab[n] = comm_mem_map(COMM_TABLE_SLAB_CELLS * sizeof(struct comm_tool_cell));
}

void comm_table_init(struct comm_table *table)
{
	*table = (struct comm_table){0};
	add_slab(table);
	/* Cell 0 matches no question, so an empty cache needs no test. */
	*comm_table_at(table, 0) =
		(struct comm_tool_cell){.writer = UINT32_MAX, .reader = UINT32_MAX};
	table->n_cells = 1;
	for (uint32_t i = 0; i < COMM_TABLE_CACHE; i++)
		table->cache[i] = comm_table_at(table, 0);
	table->n_buckets = FIRST_BUCKETS;
	table->bucket = comm_mem_map(table->n_buckets * sizeof(*table->bucket));
	comm_table_add_actor(table, 0, 0, 0);
}

void comm_table_deinit(struct comm_table *table)
{
	for (uint32_t i = 0; i <= (table->n_cells - 1) / COMM_TABLE_SLAB_CELLS; i++)
		comm_mem_unmap(table->slab[i],
			       COMM_TABLE_SLAB_CELLS * sizeof(struct comm_tool_cell));
	comm_mem_free(table->slab);
	comm_mem_unmap(table->bucket, table->n_buckets * sizeof(*table->bucket));
	comm_mem_free(table->actor);
}

uint32_t comm_table_add_actor(struct comm_table *table, uint32_t thread, uint32_t site,
			      uint32_t call)
{
	if (table->n_actors >= table->actor_capacity) {
		table->actor_capacity = table->actor_capacity ? 2 * table->actor_capacity : 256;
		table->actor = comm_mem_realloc(table->actor, (size_t)table->actor_capacity *
								      sizeof(*table->actor));
	}
	table->actor[table->n_actors] =
		(struct comm_tool_actor){.thread = thread, .site = site, .call = call};
	return table->n_actors++;
}

static void grow_buckets(struct comm_table *table)
{
	uint32_t n = table->n_buckets * 4;
	uint32_t *bucket = comm_mem_map(n * sizeof(*bucket));

	for (uint32_t i = 1; i < table->n_cells; i++) {
		struct comm_tool_cell *cell = comm_table_at(table, i);
		uint32_t hash = comm_table_hash(cell->writer, cell->reader, cell->object);

		cell->next = bucket[hash & (n - 1)];
		bucket[hash & (n - 1)] = i;
	}
	comm_mem_unmap(table->bucket, table->n_buckets * sizeof(*table->bucket));
	table->bucket = bucket;
	table->n_buckets = n;
}

struct comm_tool_cell *comm_table_find(struct comm_table *table, uint32_t writer, uint32_t reader,
				       uint32_t object)
{
	uint32_t hash = comm_table_hash(writer, reader, object);
	uint32_t *bucket = &table->bucket[hash & (table->n_buckets - 1)];
	struct comm_tool_cell *cell;

	for (uint32_t i = *bucket; i; i = cell->next) {
		cell = comm_table_at(table, i);
		if (cell->writer == writer && cell->reader == reader && cell->object == object)
			return cell;
	}
	if (table->n_cells >= table->n_buckets) {
		grow_buckets(table);
		bucket = &table->bucket[hash & (table->n_buckets - 1)];
	}
	if (table->n_cells % COMM_TABLE_SLAB_CELLS == 0)
		add_slab(table);
	cell = comm_table_at(table, table->n_cells);
	*cell = (struct comm_tool_cell){
		.writer = writer, .reader = reader, .object = object, .next = *bucket};
	*bucket = table->n_cells++;
	return cell;
}
