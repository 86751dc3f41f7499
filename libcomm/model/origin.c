// SPDX-License-Identifier: GPL-2.0-or-later
#include "origin.h"

#include "ids.h"

static void sum(void *to_row, const void *row)
{
	const struct comm_origin *from = row;
	struct comm_origin *to = to_row;

	for (int i = 0; i < COMM_FROM_MAX; i++) {
		to->from[i].samples += from->from[i].samples;
		to->from[i].loads += from->from[i].loads;
		to->from[i].timed_loads += from->from[i].timed_loads;
		to->from[i].timed_cycles += from->from[i].timed_cycles;
	}
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_origin, object), sum};

void comm_origins_deinit(struct comm_origins *table)
{
	comm_keyed_deinit(&table->keyed);
}

void comm_origins_clear(struct comm_origins *table)
{
	comm_keyed_clear(&table->keyed);
}

int comm_origins_at(struct comm_origins *table, uint32_t thread, uint32_t site, uint32_t object,
		    size_t *ret)
{
	const uint32_t key[] = {thread, site, object};

	return comm_keyed_at(&table->keyed, &kind, key, ret);
}

int comm_origins_add(struct comm_origins *table, const struct comm_origin *origin)
{
	return comm_keyed_add(&table->keyed, &kind, origin, NULL);
}

static int order_key(const void *pa, const void *pb)
{
	const struct comm_origin *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->object > b->object) - (a->object < b->object);
}

static double loads(const struct comm_origin *origin)
{
	double sum = 0;

	for (int i = 0; i < COMM_FROM_MAX; i++)
		sum += origin->from[i].loads;
	return sum;
}

static int order_loads(const void *pa, const void *pb)
{
	double a = loads(pa), b = loads(pb);

	if (a != b)
		return a > b ? -1 : 1;
	return order_key(pa, pb);
}

static void strip(void *row)
{
	struct comm_origin *origin = row;

	origin->thread = origin->site = origin->object = COMM_ID_OTHER;
}

void comm_origins_fold(struct comm_origins *table, size_t cap, uint64_t *ret_folded)
{
	*ret_folded += comm_keyed_fold(&table->keyed, &kind, cap, order_loads, NULL, strip);
}

void comm_origins_sort(struct comm_origins *table)
{
	comm_keyed_sort(&table->keyed, &kind, order_key);
}
