/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recent.h"

#include <stdlib.h>

void comm_recents_init(struct comm_recents *recents, size_t max, size_t bytes,
		       void (*forget)(void *ctx, struct comm_recent *kept), void *ctx)
{
	*recents = (struct comm_recents){.max = max, .bytes = bytes, .forget = forget, .ctx = ctx};
}

static void forget(struct comm_recents *recents, struct comm_recent **at)
{
	struct comm_recent *kept = *at;

	*at = kept->next;
	recents->forget(recents->ctx, kept);
	free(kept);
	recents->n--;
}

void comm_recents_deinit(struct comm_recents *recents)
{
	for (size_t i = 0; i < COMM_RECENT_BUCKETS; i++)
		while (recents->bucket[i])
			forget(recents, &recents->bucket[i]);
}

void *comm_recents_known(const struct comm_recents *recents, uint32_t tgid)
{
	struct comm_recent *kept = recents->bucket[tgid % COMM_RECENT_BUCKETS];

	while (kept && kept->tgid != tgid)
		kept = kept->next;
	return kept;
}

void *comm_recents_oldest(const struct comm_recents *recents,
			  bool (*has)(const struct comm_recent *kept, const void *ctx),
			  const void *ctx)
{
	struct comm_recent *found = NULL;

	for (size_t i = 0; i < COMM_RECENT_BUCKETS; i++)
		for (struct comm_recent *kept = recents->bucket[i]; kept; kept = kept->next)
			if (has(kept, ctx) && (!found || kept->used < found->used))
				found = kept;
	return found;
}

static bool is_any(const struct comm_recent *kept, const void *ctx)
{
	(void)kept;
	(void)ctx;
	return true;
}

static void forget_oldest(struct comm_recents *recents)
{
	const struct comm_recent *oldest = comm_recents_oldest(recents, is_any, NULL);
	struct comm_recent **at = &recents->bucket[oldest->tgid % COMM_RECENT_BUCKETS];

	while (*at != oldest)
		at = &(*at)->next;
	forget(recents, at);
}

void *comm_recents_get(struct comm_recents *recents, uint32_t tgid)
{
	struct comm_recent *kept = comm_recents_known(recents, tgid), **bucket;

	if (!kept) {
		if (recents->n >= recents->max)
			forget_oldest(recents);
		kept = calloc(1, recents->bytes);
		if (!kept)
			return NULL;
		bucket = &recents->bucket[tgid % COMM_RECENT_BUCKETS];
		kept->tgid = tgid;
		kept->next = *bucket;
		*bucket = kept;
		recents->n++;
	}
	kept->used = ++recents->used;
	return kept;
}

void comm_recents_each(const struct comm_recents *recents,
		       void (*fn)(void *ctx, struct comm_recent *kept), void *ctx)
{
	for (size_t i = 0; i < COMM_RECENT_BUCKETS; i++)
		for (struct comm_recent *kept = recents->bucket[i]; kept; kept = kept->next)
			fn(ctx, kept);
}
