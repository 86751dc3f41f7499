// SPDX-License-Identifier: GPL-2.0-or-later
#include "touch.h"

#include "hash.h"
#include "ids.h"
#include "model.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TOUCH_PAGE_SHIFT = 12,
	TOUCH_BLOCK_PAGES =
		64, /* a power of two; a touch stands in the list of each block it meets */
	TOUCH_PAGES = 1 << 16, /* of one touch: more are taken for damage */
	TOUCHES = 1 << 16,     /* kept; also the buckets.  A power of two */
	TOUCH_AREA_LEVELS = 3,
	TOUCH_AREAS = 1 << 15, /* a power of two; those that find no place are not known */
	TOUCH_AREA_PROBES = 8,
};

/* Pages of an area: 256 KiB, 2 MiB, 16 MiB. */
static const uint8_t touch_area_shift[TOUCH_AREA_LEVELS] = {6, 9, 12};

/* Touches in an area of memory that is no file's. */
struct touch_area {
	uint64_t key; /* 0: free */
	struct comm_touch touch;
	bool differ; /* by several threads: none counts for the others */
};

struct touch_slot {
	struct comm_touch touch;
	uint64_t older; /* serial of an older one of the same bucket; 0 ends */
};

struct comm_touches {
	uint64_t n; /* ever; serial i lies in slot i % TOUCHES */
	uint64_t bucket[TOUCHES];
	struct touch_slot slot[TOUCHES];
	struct touch_area area[TOUCH_AREAS];
};

int comm_touches_create(struct comm_touches **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_touches_destroy(struct comm_touches *touches)
{
	free(touches);
}

static uint32_t touch_bucket(uint64_t page)
{
	return comm_hash_word(page / TOUCH_BLOCK_PAGES) >> 40 & (TOUCHES - 1);
}

/* The area of a page, or the place that is free for it; NULL: there is none. */
static const struct touch_area *touch_area_find(const struct comm_touches *touches, uint64_t page,
						uint32_t level, uint64_t *ret_key)
{
	uint64_t hash;

	*ret_key = ((page >> touch_area_shift[level]) * TOUCH_AREA_LEVELS | 1ULL << 63) + level;
	hash = comm_hash_word(*ret_key) >> 40;
	for (uint32_t i = 0; i < TOUCH_AREA_PROBES; i++) {
		const struct touch_area *a = &touches->area[(hash + i) & (TOUCH_AREAS - 1)];

		if (!a->key || a->key == *ret_key)
			return a;
	}
	return NULL;
}

static void touch_area_add(struct comm_touches *touches, uint64_t page, uint32_t level,
			   const struct comm_touch *touch)
{
	uint64_t key;
	const struct touch_area *found = touch_area_find(touches, page, level, &key);
	struct touch_area *a = found ? &touches->area[found - touches->area] : NULL;

	if (!a)
		return;
	if (!a->key) {
		*a = (struct touch_area){.key = key, .touch = *touch};
		return;
	}
	a->differ |= a->touch.thread != touch->thread;
	if (a->touch.site != touch->site)
		a->touch.site = COMM_SITE_FIRST_WRITE;
}

/* A touch that counts for the pages beside it; NULL: none. */
static const struct comm_touch *touch_nearby(const struct comm_touches *touches, uint64_t page)
{
	for (uint32_t level = 0; level < TOUCH_AREA_LEVELS; level++) {
		uint64_t key;
		const struct touch_area *a = touch_area_find(touches, page, level, &key);

		if (a && a->key)
			return a->differ ? NULL : &a->touch;
	}
	return NULL;
}

void comm_touches_add(struct comm_touches *touches, const struct comm_touch *touch)
{
	uint64_t page = touch->datum >> TOUCH_PAGE_SHIFT;
	uint64_t last = (touch->datum + touch->size_bytes - 1) >> TOUCH_PAGE_SHIFT;

	if (!touch->size_bytes || last - page >= TOUCH_PAGES || comm_without(COMM_TERM_touch))
		return;
	for (uint32_t level = 0; level < TOUCH_AREA_LEVELS && !touch->of_file; level++) {
		uint32_t shift = touch_area_shift[level];

		for (uint64_t area = page >> shift; area <= last >> shift; area++)
			touch_area_add(touches, area << shift, level, touch);
	}
	for (; page <= last; page = (page | (TOUCH_BLOCK_PAGES - 1)) + 1) {
		uint64_t *bucket = &touches->bucket[touch_bucket(page)];
		uint64_t serial = ++touches->n;

		touches->slot[serial % TOUCHES] =
			(struct touch_slot){.touch = *touch, .older = *bucket};
		*bucket = serial;
	}
}

const struct comm_touch *comm_touches_of(const struct comm_touches *touches, uint64_t datum,
					 bool constant, bool of_file, uint64_t time_ns)
{
	uint64_t page = datum >> TOUCH_PAGE_SHIFT;
	const struct comm_touch *later = NULL;

	for (uint64_t i = touches->bucket[touch_bucket(page)]; i && touches->n - i < TOUCHES;) {
		const struct touch_slot *s = &touches->slot[i % TOUCHES];
		const struct comm_touch *t = &s->touch;

		if ((constant || !t->loads) && page >= t->datum >> TOUCH_PAGE_SHIFT &&
		    page <= (t->datum + t->size_bytes - 1) >> TOUCH_PAGE_SHIFT) {
			if (t->time_ns <= time_ns)
				return t;
			later = t;
		}
		i = s->older;
	}
	return later || of_file ? later : touch_nearby(touches, page);
}

struct comm_ages comm_touch_ages(const struct comm_touch *touch, uint64_t time_ns,
				 const struct comm_frame_at *at)
{
	if (touch->time_ns <= time_ns)
		return comm_ages_of(time_ns - touch->time_ns, at);
	return (struct comm_ages){0};
}

bool comm_touches_none(const struct comm_touches *touches)
{
	return !touches->n;
}
