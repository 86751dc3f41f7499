/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process_lru.h"

#include <stdlib.h>

void comm_process_lru_init(struct comm_process_lru *lru, size_t max, size_t bytes,
			   void (*forget)(void *ctx, struct comm_process_lru_entry *kept),
			   void *ctx)
{
	*lru = (struct comm_process_lru){.max = max, .bytes = bytes, .forget = forget, .ctx = ctx};
}

static void forget(struct comm_process_lru *lru, struct comm_process_lru_entry **at)
{
	struct comm_process_lru_entry *kept = *at;

	*at = kept->next;
	lru->forget(lru->ctx, kept);
	free(kept);
	lru->n--;
}

void comm_process_lru_deinit(struct comm_process_lru *lru)
{
	for (size_t i = 0; i < COMM_PROCESS_LRU_BUCKETS; i++)
		while (lru->bucket[i])
			forget(lru, &lru->bucket[i]);
}

void *comm_process_lru_known(const struct comm_process_lru *lru, uint32_t tgid)
{
	struct comm_process_lru_entry *kept = lru->bucket[tgid % COMM_PROCESS_LRU_BUCKETS];

	while (kept && kept->tgid != tgid)
		kept = kept->next;
	return kept;
}

void *comm_process_lru_oldest(const struct comm_process_lru *lru,
			      bool (*has)(const struct comm_process_lru_entry *kept,
					  const void *ctx),
			      const void *ctx)
{
	struct comm_process_lru_entry *found = NULL;

	for (size_t i = 0; i < COMM_PROCESS_LRU_BUCKETS; i++)
		for (struct comm_process_lru_entry *kept = lru->bucket[i]; kept; kept = kept->next)
			if (has(kept, ctx) && (!found || kept->used < found->used))
				found = kept;
	return found;
}

static bool is_any(const struct comm_process_lru_entry *kept, const void *ctx)
{
	(void)kept;
	(void)ctx;
	return true;
}

static void forget_oldest(struct comm_process_lru *lru)
{
	const struct comm_process_lru_entry *oldest = comm_process_lru_oldest(lru, is_any, NULL);
	struct comm_process_lru_entry **at = &lru->bucket[oldest->tgid % COMM_PROCESS_LRU_BUCKETS];

	while (*at != oldest)
		at = &(*at)->next;
	forget(lru, at);
}

void *comm_process_lru_get(struct comm_process_lru *lru, uint32_t tgid)
{
	struct comm_process_lru_entry *kept = comm_process_lru_known(lru, tgid), **bucket;

	if (!kept) {
		if (lru->n >= lru->max)
			forget_oldest(lru);
		kept = calloc(1, lru->bytes);
		if (!kept)
			return NULL;
		bucket = &lru->bucket[tgid % COMM_PROCESS_LRU_BUCKETS];
		kept->tgid = tgid;
		kept->next = *bucket;
		*bucket = kept;
		lru->n++;
	}
	kept->used = ++lru->used;
	return kept;
}

void comm_process_lru_each(const struct comm_process_lru *lru,
			   void (*fn)(void *ctx, struct comm_process_lru_entry *kept), void *ctx)
{
	for (size_t i = 0; i < COMM_PROCESS_LRU_BUCKETS; i++)
		for (struct comm_process_lru_entry *kept = lru->bucket[i]; kept; kept = kept->next)
			fn(ctx, kept);
}
