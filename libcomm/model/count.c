// SPDX-License-Identifier: GPL-2.0-or-later
#include "count.h"

#include <string.h>
#include <strings.h>

#include "ids.h"

static void sum(void *to_row, const void *row)
{
	const struct comm_count *count = row;
	struct comm_count *to = to_row;

	to->value += count->value;
	to->enabled_ns += count->enabled_ns;
	to->running_ns += count->running_ns;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_count, counter), sum};

void comm_counts_deinit(struct comm_counts *table)
{
	comm_keyed_deinit(&table->keyed);
}

void comm_counts_clear(struct comm_counts *table)
{
	comm_keyed_clear(&table->keyed);
}

int comm_counts_add(struct comm_counts *table, const struct comm_count *count)
{
	return comm_keyed_add(&table->keyed, &kind, count, NULL);
}

static int order_key(const void *pa, const void *pb)
{
	const struct comm_count *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->region != b->region)
		return a->region < b->region ? -1 : 1;
	return (a->counter > b->counter) - (a->counter < b->counter);
}

static int order_share(const void *pa, const void *pb)
{
	const struct comm_count *a = pa, *b = pb;

	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return order_key(pa, pb);
}

/* Sum of a counter over all threads; counters are few, rows are not. */
static void set_shares(struct comm_counts *table)
{
	struct comm_counts sums = {0};
	size_t at;

	for (size_t i = 0; i < table->n; i++) {
		struct comm_count key = {.counter = table->count[i].counter,
					 .value = table->count[i].value};

		/* Without memory for the sums all shares are alike: the first threads stay. */
		if (comm_counts_add(&sums, &key))
			break;
	}
	for (size_t i = 0; i < table->n; i++) {
		struct comm_count *count = &table->count[i];
		struct comm_count key = {.counter = count->counter};
		bool known = !comm_keyed_at(&sums.keyed, &kind, &key, &at);

		count->share =
			known && sums.count[at].value > 0 ? count->value / sums.count[at].value : 0;
	}
	comm_counts_deinit(&sums);
}

static void strip(void *row)
{
	struct comm_count *count = row;

	count->thread = COMM_ID_OTHER;
	count->region = COMM_CODE_REGION_NONE;
}

void comm_counts_fold(struct comm_counts *table, size_t cap, uint64_t *ret_folded)
{
	if (table->n <= cap)
		return;
	set_shares(table);
	*ret_folded += comm_keyed_fold(&table->keyed, &kind, cap, order_share, NULL, strip);
}

void comm_counts_sort(struct comm_counts *table)
{
	comm_keyed_sort(&table->keyed, &kind, order_key);
}

bool comm_counter_is_off_cpu(const char *name)
{
	static const char perf[] = "perf::", kernel[] = "PERF_COUNT_SW_";
	static const char *const off[] = {
		COMM_COUNTER_WAIT,	 COMM_COUNTER_BLOCKED,
		COMM_COUNTER_VOLUNTARY,	 COMM_COUNTER_INVOLUNTARY,
		COMM_COUNTER_MIGRATIONS, "cpu-migrations",
		"cpu_migrations",	 "context-switches",
		"context_switches",	 "cs",
	};
	size_t len;

	if (!strncasecmp(name, perf, strlen(perf)))
		name += strlen(perf);
	if (!strncasecmp(name, kernel, strlen(kernel)))
		name += strlen(kernel);
	/* Behind it are modifiers, as in "cs:u". */
	len = strcspn(name, ":");
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		if (strlen(off[i]) == len && !strncasecmp(off[i], name, len))
			return true;
	return false;
}
