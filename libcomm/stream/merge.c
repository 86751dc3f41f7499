// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"

enum {
	MARGIN_MIN_NS = 2 * 1000 * 1000,
	MARGIN_MAX_NS = 200 * 1000 * 1000,
	/* Per cut: a margin of 20 ms is back at 2 ms after some 230 cuts. */
	MARGIN_DECAY_SHIFT = 7,
	ARENA_START_BYTES = 1 << 20,
};

/* Sort key of a pending event; the copy stands in the arena. */
struct key {
	uint64_t time_ns;
	size_t offset;
};

struct arena {
	char *base;
	size_t used, size;
};

struct comm_merge {
	comm_event_fn *deliver;
	void *ctx;
	struct key *keys, *scratch;
	size_t n, capacity;
	bool sorted;
	/* Events that a cut leaves pending move to the other arena; the old one is reused. */
	struct arena arena[2];
	int current;
	uint64_t passed_ns; /* the watermark: events older than it are late */
	uint64_t margin_ns;
	uint64_t worst_late_ns;
	uint64_t late;
	bool (*is_over)(void *ctx); /* NULL: never */
	uint64_t unfinished;
};

int comm_merge_create(comm_event_fn *deliver, void *ctx, struct comm_merge **ret)
{
	struct comm_merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return -ENOMEM;
	merge->deliver = deliver;
	merge->ctx = ctx;
	merge->sorted = true;
	merge->margin_ns = MARGIN_MIN_NS;
	*ret = merge;
	return 0;
}

void comm_merge_destroy(struct comm_merge *merge)
{
	if (!merge)
		return;
	free(merge->arena[0].base);
	free(merge->arena[1].base);
	free(merge->keys);
	free(merge->scratch);
	free(merge);
}

static void *arena_take(struct arena *arena, size_t bytes)
{
	bytes = (bytes + 7) & ~(size_t)7;
	if (arena->size - arena->used < bytes) {
		size_t size = arena->size ? arena->size : ARENA_START_BYTES;
		char *base;

		while (size - arena->used < bytes)
			size *= 2;
		base = realloc(arena->base, size);
		if (!base)
			return NULL;
		arena->base = base;
		arena->size = size;
	}
	arena->used += bytes;
	return arena->base + arena->used - bytes;
}

static int copy_event(struct arena *arena, const struct comm_event *event, size_t *ret_offset)
{
	size_t sample = event->kind == COMM_EV_SAMPLE ? comm_sample_bytes(event->sample) : 0;
	char *to = arena_take(arena, sizeof(*event) + sample);

	if (!to)
		return -ENOMEM;
	memcpy(to, event, sizeof(*event));
	if (sample)
		memcpy(to + sizeof(*event), event->sample, sample);
	*ret_offset = (size_t)(to - arena->base);
	return 0;
}

/* A sample's copy follows its event; arenas move when they grow, so set the pointer late. */
static struct comm_event *event_at(struct arena *arena, size_t offset)
{
	struct comm_event *event = (struct comm_event *)(arena->base + offset);

	if (event->kind == COMM_EV_SAMPLE)
		event->sample = (const struct comm_sample *)(event + 1);
	return event;
}

static int reserve(struct comm_merge *merge)
{
	size_t capacity = merge->capacity ? 2 * merge->capacity : 1024;
	struct key *keys, *scratch;

	if (merge->n < merge->capacity)
		return 0;
	keys = realloc(merge->keys, capacity * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	merge->keys = keys;
	scratch = realloc(merge->scratch, capacity * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	merge->scratch = scratch;
	merge->capacity = capacity;
	return 0;
}

void comm_merge_push(struct comm_merge *merge, const struct comm_event *event)
{
	size_t offset;

	if (event->time_ns < merge->passed_ns) {
		uint64_t by_ns = merge->passed_ns - event->time_ns;

		merge->late++;
		if (by_ns > merge->worst_late_ns)
			merge->worst_late_ns = by_ns;
		return;
	}
	if (reserve(merge) || copy_event(&merge->arena[merge->current], event, &offset)) {
		merge->late++; /* out of memory: lost, and counted */
		return;
	}
	if (merge->n && event->time_ns < merge->keys[merge->n - 1].time_ns)
		merge->sorted = false;
	merge->keys[merge->n++] = (struct key){event->time_ns, offset};
}

static size_t run_end(const struct key *keys, size_t from, size_t n)
{
	size_t i = from + 1;

	while (i < n && keys[i - 1].time_ns <= keys[i].time_ns)
		i++;
	return i;
}

/*
 * Natural merge sort: streams come one after the other, each nearly in order,
 * so there are few runs.  Stable, hence deterministic for equal times.
 */
static void sort_keys(struct comm_merge *merge)
{
	struct key *from = merge->keys, *to = merge->scratch;
	size_t n = merge->n;

	while (run_end(from, 0, n) < n) {
		size_t out = 0;

		while (out < n) {
			size_t a = out, mid = run_end(from, a, n);
			size_t b = mid, end = mid < n ? run_end(from, mid, n) : n;

			while (a < mid && b < end)
				to[out++] =
					from[b].time_ns < from[a].time_ns ? from[b++] : from[a++];
			while (a < mid)
				to[out++] = from[a++];
			while (b < end)
				to[out++] = from[b++];
		}
		struct key *t = from;

		from = to;
		to = t;
	}
	merge->keys = from;
	merge->scratch = to;
	merge->sorted = true;
}

static bool is_wanted(const struct comm_merge *merge, const struct comm_event *event)
{
	return event->kind == COMM_EV_COST || event->kind == COMM_EV_LOSS || !merge->is_over ||
	       !merge->is_over(merge->ctx);
}

static void deliver_until(struct comm_merge *merge, uint64_t until_ns)
{
	struct arena *arena = &merge->arena[merge->current];
	struct arena *next = &merge->arena[!merge->current];
	size_t i, kept = 0;

	if (!merge->sorted)
		sort_keys(merge);
	for (i = 0; i < merge->n && merge->keys[i].time_ns < until_ns; i++) {
		const struct comm_event *event = event_at(arena, merge->keys[i].offset);

		if (is_wanted(merge, event))
			merge->deliver(merge->ctx, event);
		else
			merge->unfinished++;
	}
	if (!i)
		return;
	next->used = 0;
	for (; i < merge->n; i++) {
		struct key *key = &merge->keys[kept];

		key->time_ns = merge->keys[i].time_ns;
		if (copy_event(next, event_at(arena, merge->keys[i].offset), &key->offset))
			merge->late++; /* out of memory: lost, and counted */
		else
			kept++;
	}
	merge->n = kept;
	arena->used = 0;
	merge->current = !merge->current;
}

void comm_merge_cut(struct comm_merge *merge, uint64_t cut_ns)
{
	uint64_t until_ns;

	if (merge->worst_late_ns) {
		merge->margin_ns += 2 * merge->worst_late_ns;
		if (merge->margin_ns > MARGIN_MAX_NS)
			merge->margin_ns = MARGIN_MAX_NS;
		merge->worst_late_ns = 0;
	} else {
		merge->margin_ns -= (merge->margin_ns - MARGIN_MIN_NS) >> MARGIN_DECAY_SHIFT;
	}
	until_ns = cut_ns > merge->margin_ns ? cut_ns - merge->margin_ns : 0;
	if (until_ns <= merge->passed_ns)
		return;
	deliver_until(merge, until_ns);
	merge->passed_ns = until_ns;
}

void comm_merge_flush(struct comm_merge *merge)
{
	deliver_until(merge, UINT64_MAX);
}

void comm_merge_until(struct comm_merge *merge, bool (*is_over)(void *ctx))
{
	merge->is_over = is_over;
}

uint64_t comm_merge_unfinished(const struct comm_merge *merge)
{
	return merge->unfinished;
}

uint64_t comm_merge_passed_ns(const struct comm_merge *merge)
{
	return merge->passed_ns;
}

uint64_t comm_merge_late(const struct comm_merge *merge)
{
	return merge->late;
}

uint64_t comm_merge_margin_ns(const struct comm_merge *merge)
{
	return merge->margin_ns;
}
