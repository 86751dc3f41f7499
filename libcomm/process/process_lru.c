/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process_lru.h"

#include <stdlib.h>

#include "hash.h"

void comm_process_lru_init(struct comm_process_lru *lru, size_t max, size_t bytes,
			   void (*forget)(void *ctx, struct comm_process_lru_entry *kept),
			   void *ctx)
{
	*lru = (struct comm_process_lru){.max = max, .bytes = bytes, .forget = forget, .ctx = ctx};
}

static void unlink_used(struct comm_process_lru *lru, struct comm_process_lru_entry *kept)
{
	*(kept->older ? &kept->older->newer : &lru->oldest) = kept->newer;
	*(kept->newer ? &kept->newer->older : &lru->newest) = kept->older;
}

static void link_newest(struct comm_process_lru *lru, struct comm_process_lru_entry *kept)
{
	kept->older = lru->newest;
	kept->newer = NULL;
	*(lru->newest ? &lru->newest->newer : &lru->oldest) = kept;
	lru->newest = kept;
}

/* Where a process is linked, or NULL stands at the end of its bucket. */
static struct comm_process_lru_entry **link_of(struct comm_process_lru *lru, uint32_t tgid)
{
	struct comm_process_lru_entry **at =
		&lru->bucket[comm_hash_secret(&tgid, sizeof(tgid)) % COMM_PROCESS_LRU_BUCKETS];

	while (*at && (*at)->tgid != tgid)
		at = &(*at)->next;
	return at;
}

void comm_process_lru_drop(struct comm_process_lru *lru, uint32_t tgid)
{
	struct comm_process_lru_entry **at = link_of(lru, tgid), *kept = *at;

	if (!kept)
		return;
	*at = kept->next;
	unlink_used(lru, kept);
	if (lru->forget)
		lru->forget(lru->ctx, kept);
	free(kept);
	lru->n--;
}

void comm_process_lru_deinit(struct comm_process_lru *lru)
{
	while (lru->oldest)
		comm_process_lru_drop(lru, lru->oldest->tgid);
}

void *comm_process_lru_known(const struct comm_process_lru *lru, uint32_t tgid)
{
	return *link_of((struct comm_process_lru *)lru, tgid);
}

void *comm_process_lru_oldest(const struct comm_process_lru *lru,
			      bool (*has)(const struct comm_process_lru_entry *kept,
					  const void *ctx),
			      const void *ctx)
{
	struct comm_process_lru_entry *kept = lru->oldest;

	while (kept && !has(kept, ctx))
		kept = kept->newer;
	return kept;
}

void *comm_process_lru_get(struct comm_process_lru *lru, uint32_t tgid)
{
	struct comm_process_lru_entry *kept = lru->newest, **at;

	if (kept && kept->tgid == tgid)
		return kept;
	kept = *link_of(lru, tgid);
	if (kept) {
		unlink_used(lru, kept);
	} else {
		if (lru->max && lru->n >= lru->max)
			comm_process_lru_drop(lru, lru->oldest->tgid);
		kept = calloc(1, lru->bytes);
		if (!kept)
			return NULL;
		kept->tgid = tgid;
		at = link_of(lru, tgid);
		*at = kept;
		lru->n++;
	}
	link_newest(lru, kept);
	return kept;
}

void comm_process_lru_each(const struct comm_process_lru *lru,
			   void (*fn)(void *ctx, struct comm_process_lru_entry *kept), void *ctx)
{
	for (struct comm_process_lru_entry *kept = lru->oldest; kept; kept = kept->newer)
		fn(ctx, kept);
}
