// SPDX-License-Identifier: GPL-2.0-or-later
#include "placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ids.h"

enum { PLACEMENTS_FIRST = 64 };

void comm_placements_deinit(struct comm_placements *table)
{
	free(table->placement);
	free(table->slot);
	memset(table, 0, sizeof(*table));
}

void comm_placements_clear(struct comm_placements *table)
{
	table->n = 0;
	if (table->slot)
		memset(table->slot, 0, table->n_slots * sizeof(*table->slot));
}

/* The slot of a placement, or the free one where it belongs. */
static uint32_t *slot_of(const struct comm_placements *table, uint32_t thread, uint32_t cpu)
{
	size_t at = comm_hash_mix(thread, cpu) & (table->n_slots - 1);

	while (table->slot[at] && (table->placement[table->slot[at] - 1].thread != thread ||
				   table->placement[table->slot[at] - 1].cpu != cpu))
		at = (at + 1) & (table->n_slots - 1);
	return &table->slot[at];
}

static int grow(struct comm_placements *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : PLACEMENTS_FIRST;
	struct comm_placement *placement;
	uint32_t *slot;

	if (capacity > UINT32_MAX / 2)
		return -ENOMEM;
	placement = reallocarray(table->placement, capacity, sizeof(*placement));
	if (!placement)
		return -ENOMEM;
	table->placement = placement;
	slot = calloc(2 * capacity, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(table->slot);
	table->slot = slot;
	table->n_slots = 2 * capacity;
	table->capacity = capacity;
	for (size_t i = 0; i < table->n; i++)
		*slot_of(table, placement[i].thread, placement[i].cpu) = i + 1;
	return 0;
}

int comm_placements_add(struct comm_placements *table, uint32_t thread, uint32_t cpu,
			uint64_t samples)
{
	uint32_t *slot;
	int err;

	if (table->n == table->capacity) {
		err = grow(table);
		if (err)
			return err;
	}
	slot = slot_of(table, thread, cpu);
	if (!*slot) {
		table->placement[table->n] = (struct comm_placement){.thread = thread, .cpu = cpu};
		*slot = ++table->n;
	}
	table->placement[*slot - 1].samples += samples;
	return 0;
}

static int order_key(const void *pa, const void *pb)
{
	const struct comm_placement *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static int order_samples(const void *pa, const void *pb)
{
	const struct comm_placement *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return order_key(pa, pb);
}

int comm_placements_fold(struct comm_placements *table, size_t cap, uint64_t *ret_folded)
{
	struct comm_placements kept = {0};
	int err = 0;

	if (table->n <= cap)
		return 0;
	qsort(table->placement, table->n, sizeof(*table->placement), order_samples);
	for (size_t i = 0; i < table->n && !err; i++) {
		const struct comm_placement *p = &table->placement[i];

		err = comm_placements_add(&kept, i < cap ? p->thread : COMM_ID_OTHER, p->cpu,
					  p->samples);
	}
	if (err) {
		comm_placements_deinit(&kept);
		return err;
	}
	*ret_folded += table->n - cap;
	comm_placements_deinit(table);
	*table = kept;
	return 0;
}

void comm_placements_sort(struct comm_placements *table)
{
	if (table->n)
		qsort(table->placement, table->n, sizeof(*table->placement), order_key);
}
