// SPDX-License-Identifier: GPL-2.0-or-later
#include "placement.h"

#include "ids.h"

static void sum(void *to, const void *row)
{
	((struct comm_placement *)to)->samples += ((const struct comm_placement *)row)->samples;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_placement, cpu), sum};

void comm_placements_deinit(struct comm_placements *table)
{
	comm_keyed_deinit(&table->keyed);
}

void comm_placements_clear(struct comm_placements *table)
{
	comm_keyed_clear(&table->keyed);
}

int comm_placements_add(struct comm_placements *table, uint32_t thread, uint32_t cpu,
			uint64_t samples)
{
	const struct comm_placement placement = {thread, cpu, samples};

	return comm_keyed_add(&table->keyed, &kind, &placement, NULL);
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

static void strip(void *row)
{
	((struct comm_placement *)row)->thread = COMM_ID_OTHER;
}

void comm_placements_fold(struct comm_placements *table, size_t cap, uint64_t *ret_folded)
{
	*ret_folded += comm_keyed_fold(&table->keyed, &kind, cap, order_samples, NULL, strip);
}

void comm_placements_sort(struct comm_placements *table)
{
	comm_keyed_sort(&table->keyed, &kind, order_key);
}
