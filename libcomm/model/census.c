// SPDX-License-Identifier: GPL-2.0-or-later
#include "census.h"

#include "ids.h"

#define LAG(ns) ns,
const uint64_t comm_census_lag_ns[COMM_CENSUS_LAGS] = {COMM_CENSUS_LAGS_NS(LAG)};
#undef LAG

/* Looks of lags that are less than twice as long as a lag count as that lag's. */
static unsigned int look_at(uint64_t lag_ns)
{
	unsigned int look = 0;

	while (look + 1 < COMM_CENSUS_LAGS && lag_ns >= 2 * comm_census_lag_ns[look])
		look++;
	return look;
}

enum comm_census_class comm_census_class_of(uint64_t quiet_ns, uint64_t changed_ns)
{
	if (changed_ns)
		return COMM_CENSUS_CHANGED + look_at(changed_ns);
	if (quiet_ns < comm_census_lag_ns[0])
		return COMM_CENSUS_QUIET;
	return COMM_CENSUS_QUIET + look_at(quiet_ns) + 1;
}

static void sum(void *to_row, const void *row)
{
	const struct comm_census_words *from = row;
	struct comm_census_words *to = to_row;

	to->words += from->words;
	to->bytes += from->bytes;
	to->squares += from->squares;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_census_words, class), sum};

void comm_census_deinit(struct comm_census *table)
{
	comm_keyed_deinit(&table->keyed);
}

void comm_census_clear(struct comm_census *table)
{
	comm_keyed_clear(&table->keyed);
}

int comm_census_add(struct comm_census *table, const struct comm_census_words *words)
{
	return comm_keyed_add(&table->keyed, &kind, words, NULL);
}

static int order_key(const void *pa, const void *pb)
{
	const struct comm_census_words *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->class > b->class) - (a->class < b->class);
}

static int order_bytes(const void *pa, const void *pb)
{
	const struct comm_census_words *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return order_key(pa, pb);
}

static void strip(void *row)
{
	struct comm_census_words *words = row;

	words->thread = words->site = words->object = COMM_ID_OTHER;
}

void comm_census_fold(struct comm_census *table, size_t cap, uint64_t *ret_folded)
{
	*ret_folded += comm_keyed_fold(&table->keyed, &kind, cap, order_bytes, NULL, strip);
}

void comm_census_sort(struct comm_census *table)
{
	comm_keyed_sort(&table->keyed, &kind, order_key);
}
