/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table.h"

#include <stddef.h>

#include "memory.h"

enum {
	FIRST_BUCKETS = 4096,
	FIRST_SLOTS = 4096,
};

static void init_index(struct comm_table *table)
{
	for (uint32_t i = 0; i < COMM_TABLE_CACHE; i++)
		table->cache[i] = comm_table_at(table, 0);
	table->n_own = 0;
	table->n_buckets = FIRST_BUCKETS;
	table->bucket = comm_mem_map(table->n_buckets * sizeof(*table->bucket));
	table->n_within = 0;
	table->n_slots = FIRST_SLOTS;
	table->within = comm_mem_map(table->n_slots * sizeof(*table->within));
}

static void deinit_index(struct comm_table *table)
{
	comm_mem_unmap(table->within, table->n_slots * sizeof(*table->within));
	comm_mem_unmap(table->bucket, table->n_buckets * sizeof(*table->bucket));
}

void comm_table_init(struct comm_table *table)
{
	*table = (struct comm_table){0};
	comm_array_init(&table->actors, sizeof(struct comm_tool_actor), COMM_TABLE_ACTORS);
	comm_array_init(&table->cells, sizeof(struct comm_tool_cell), COMM_TABLE_CELLS);
	/* Cell 0 matches no question, so an empty cache needs no test. */
	comm_array_add(&table->cells, 1);
	*comm_table_at(table, 0) =
		(struct comm_tool_cell){.writer = UINT32_MAX, .reader = UINT32_MAX};
	init_index(table);
	comm_table_add_actor(table, &(struct comm_tool_actor){0});
}

void comm_table_deinit(struct comm_table *table)
{
	comm_array_deinit(&table->cells);
	comm_array_deinit(&table->actors);
	deinit_index(table);
}

void comm_table_forked(struct comm_table *table)
{
	deinit_index(table);
	init_index(table);
}

uint32_t comm_table_add_actor(struct comm_table *table, const struct comm_tool_actor *actor)
{
	uint32_t id = comm_array_add(&table->actors, 1);

	*(struct comm_tool_actor *)comm_array_at(&table->actors, id) = *actor;
	return id;
}

/* Where it is, or belongs. */
static uint32_t *slot_of(const struct comm_table *table, const struct comm_tool_actor *like)
{
	uint32_t i = comm_table_hash(like->thread, like->site, like->region << 16 ^ like->path);

	for (;; i++) {
		uint32_t *slot = &table->within[i & (table->n_slots - 1)];
		const struct comm_tool_actor *actor = comm_array_at(&table->actors, *slot);

		if (!*slot || (actor->site == like->site && actor->region == like->region &&
			       actor->path == like->path && actor->thread == like->thread))
			return slot;
	}
}

static void grow_slots(struct comm_table *table)
{
	uint32_t n = table->n_slots, *old = table->within;

	table->n_slots = 4 * n;
	table->within = comm_mem_map(table->n_slots * sizeof(*table->within));
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_tool_actor *actor = comm_array_at(&table->actors, old[i]);

		if (old[i])
			*slot_of(table, actor) = old[i];
	}
	comm_mem_unmap(old, n * sizeof(*old));
}

uint32_t comm_table_actor_within(struct comm_table *table, const struct comm_tool_actor *actor)
{
	uint32_t *slot = slot_of(table, actor);

	if (*slot)
		return *slot;
	if (comm_array_count(&table->actors) >= COMM_TABLE_ACTORS_WITHIN)
		return 0;
	if (table->n_within >= table->n_slots / 2) {
		grow_slots(table);
		slot = slot_of(table, actor);
	}
	table->n_within++;
	return *slot = comm_table_add_actor(table, actor);
}

static void grow_buckets(struct comm_table *table)
{
	uint32_t n = table->n_buckets * 4;
	uint32_t *bucket = comm_mem_map(n * sizeof(*bucket));

	for (uint32_t old = 0; old < table->n_buckets; old++) {
		for (uint32_t i = table->bucket[old], next; i; i = next) {
			struct comm_tool_cell *cell = comm_table_at(table, i);
			uint32_t hash = comm_table_hash(cell->writer, cell->reader, cell->object);

			next = cell->next;
			cell->next = bucket[hash & (n - 1)];
			bucket[hash & (n - 1)] = i;
		}
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
	uint32_t i;

	for (i = *bucket; i; i = cell->next) {
		cell = comm_table_at(table, i);
		if (cell->writer == writer && cell->reader == reader && cell->object == object)
			return cell;
	}
	if (table->n_own >= table->n_buckets) {
		grow_buckets(table);
		bucket = &table->bucket[hash & (table->n_buckets - 1)];
	}
	table->n_own++;
	i = comm_array_add(&table->cells, 1);
	cell = comm_table_at(table, i);
	*cell = (struct comm_tool_cell){
		.writer = writer, .reader = reader, .object = object, .next = *bucket};
	*bucket = i;
	return cell;
}
