// SPDX-License-Identifier: GPL-2.0-or-later
#include "origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"

enum { ORIGINS_FIRST = 64 };

void comm_origins_deinit(struct comm_origins *table)
{
	comm_edge_table_deinit(&table->index);
	free(table->origin);
	memset(table, 0, sizeof(*table));
}

void comm_origins_clear(struct comm_origins *table)
{
	comm_edge_table_clear(&table->index);
	table->n = 0;
}

int comm_origins_at(struct comm_origins *table, uint32_t thread, uint32_t site, uint32_t object,
		    size_t *ret)
{
	const struct comm_edge key = {.dst_thread = thread, .dst_site = site, .object = object};
	struct comm_origin *grown;
	struct comm_edge *cell;
	int err;

	if (table->n == table->room) {
		size_t room = table->room ? 2 * table->room : ORIGINS_FIRST;

		grown = reallocarray(table->origin, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		table->origin = grown;
		table->room = room;
	}
	err = comm_edge_table_at(&table->index, &key, &cell);
	if (err)
		return err;
	*ret = cell - table->index.edge;
	if (*ret == table->n)
		table->origin[table->n++] =
			(struct comm_origin){.thread = thread, .site = site, .object = object};
	return 0;
}

static void add(struct comm_origin *to, const struct comm_origin *from)
{
	for (int i = 0; i < COMM_FROM_MAX; i++) {
		to->from[i].samples += from->from[i].samples;
		to->from[i].loads += from->from[i].loads;
		to->from[i].timed_loads += from->from[i].timed_loads;
		to->from[i].timed_cycles += from->from[i].timed_cycles;
	}
}

int comm_origins_add(struct comm_origins *table, const struct comm_origin *origin)
{
	size_t at;
	int err = comm_origins_at(table, origin->thread, origin->site, origin->object, &at);

	if (!err)
		add(&table->origin[at], origin);
	return err;
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

int comm_origins_fold(struct comm_origins *table, size_t cap, uint64_t *ret_folded)
{
	struct comm_origins kept = {0};
	int err = 0;

	if (table->n <= cap)
		return 0;
	qsort(table->origin, table->n, sizeof(*table->origin), order_loads);
	for (size_t i = 0; i < table->n && !err; i++) {
		struct comm_origin origin = table->origin[i];

		if (i >= cap)
			origin.thread = origin.site = origin.object = COMM_ID_OTHER;
		err = comm_origins_add(&kept, &origin);
	}
	if (err) {
		comm_origins_deinit(&kept);
		return err;
	}
	*ret_folded += table->n - cap;
	comm_origins_deinit(table);
	*table = kept;
	return 0;
}

void comm_origins_sort(struct comm_origins *table)
{
	if (table->n)
		qsort(table->origin, table->n, sizeof(*table->origin), order_key);
}
