// SPDX-License-Identifier: GPL-2.0-or-later
#include "cacheline.h"

#include <stdlib.h>

static void sum_lines(void *to_row, const void *row)
{
	const struct comm_cacheline *line = row;
	struct comm_cacheline *to = to_row;

	to->bursts += line->bursts;
	to->turns += line->turns;
}

/* The object and the offset are those of the last use that was added: at first its file's symbols may not be read. */
static void sum_uses(void *to_row, const void *row)
{
	const struct comm_cacheline_use *use = row;
	struct comm_cacheline_use *to = to_row;

	to->object = use->object;
	to->offset = use->offset;
	to->bursts += use->bursts;
	to->accesses += use->accesses;
}

static const struct comm_keyed_kind lines = {COMM_KEYED_BYTES(struct comm_cacheline, datum),
					     sum_lines};
static const struct comm_keyed_kind uses = {COMM_KEYED_BYTES(struct comm_cacheline_use, write),
					    sum_uses};

void comm_cachelines_deinit(struct comm_cachelines *table)
{
	comm_keyed_deinit(&table->lines);
	comm_keyed_deinit(&table->uses);
}

void comm_cachelines_clear(struct comm_cachelines *table)
{
	comm_keyed_clear(&table->lines);
	comm_keyed_clear(&table->uses);
}

int comm_cachelines_add(struct comm_cachelines *table, const struct comm_cacheline *line,
			size_t *ret_at)
{
	return comm_keyed_add(&table->lines, &lines, line, ret_at);
}

int comm_cachelines_add_use(struct comm_cachelines *table, const struct comm_cacheline_use *use,
			    size_t *ret_at)
{
	return comm_keyed_add(&table->uses, &uses, use, ret_at);
}

static int order_lines(const void *pa, const void *pb)
{
	const struct comm_cacheline *a = pa, *b = pb;

	return (a->datum > b->datum) - (a->datum < b->datum);
}

static int order_turns(const void *pa, const void *pb)
{
	const struct comm_cacheline *a = pa, *b = pb;

	if (a->turns != b->turns)
		return a->turns > b->turns ? -1 : 1;
	if (a->bursts != b->bursts)
		return a->bursts > b->bursts ? -1 : 1;
	return order_lines(pa, pb);
}

static int order_uses(const void *pa, const void *pb)
{
	const struct comm_cacheline_use *a = pa, *b = pb;

	if (a->datum != b->datum)
		return a->datum > b->datum ? 1 : -1;
	if (a->thread != b->thread)
		return a->thread > b->thread ? 1 : -1;
	if (a->site != b->site)
		return a->site > b->site ? 1 : -1;
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? 1 : -1;
	return a->write - b->write;
}

void comm_cachelines_sort(struct comm_cachelines *table)
{
	comm_keyed_sort(&table->lines, &lines, order_lines);
	comm_keyed_sort(&table->uses, &uses, order_uses);
}

/* The first of the sorted uses at a datum or behind it. */
static size_t first_use(const struct comm_cachelines *table, uint64_t datum)
{
	size_t low = 0, high = table->n_uses;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (table->use[mid].datum < datum)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int comm_cachelines_fold(struct comm_cachelines *table, size_t cap, uint64_t *ret_dropped)
{
	struct comm_cachelines kept = {0};
	int err = 0;

	if (table->n_uses <= cap)
		return 0;
	comm_cachelines_sort(table);
	qsort(table->line, table->n_lines, sizeof(*table->line), order_turns);
	for (size_t i = 0; i < table->n_lines && !err; i++) {
		uint64_t datum = table->line[i].datum;
		size_t from = first_use(table, datum), to = from;

		while (to < table->n_uses && comm_cacheline_of(table->use[to].datum) == datum)
			to++;
		/* A smaller one behind it would be told instead of it. */
		if (kept.n_uses + (to - from) > cap)
			break;
		err = comm_cachelines_add(&kept, &table->line[i], NULL);
		for (size_t use = from; use < to && !err; use++)
			err = comm_cachelines_add_use(&kept, &table->use[use], NULL);
	}
	if (err) {
		comm_cachelines_deinit(&kept);
		return err;
	}
	*ret_dropped += table->n_uses - kept.n_uses;
	comm_cachelines_deinit(table);
	*table = kept;
	return 0;
}
