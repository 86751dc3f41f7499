// SPDX-License-Identifier: GPL-2.0-or-later
#include "touch.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TOUCH_PAGE_SHIFT = 12,
	TOUCH_BLOCK_PAGES =
		64, /* a power of two; a touch stands in the list of each block it meets */
	TOUCH_PAGES = 1 << 16, /* of one touch: more are taken for damage */
	TOUCHES = 1 << 16,     /* kept; also the buckets.  A power of two */
};

struct touch_slot {
	struct comm_touch touch;
	uint64_t older; /* serial of an older one of the same bucket; 0 ends */
};

struct comm_touches {
	uint64_t n; /* ever; serial i lies in slot i % TOUCHES */
	uint64_t bucket[TOUCHES];
	struct touch_slot slot[TOUCHES];
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

void comm_touches_add(struct comm_touches *touches, const struct comm_touch *touch)
{
	uint64_t page = touch->datum >> TOUCH_PAGE_SHIFT;
	uint64_t last = (touch->datum + touch->size_bytes - 1) >> TOUCH_PAGE_SHIFT;

	if (!touch->size_bytes || last - page >= TOUCH_PAGES)
		return;
	for (; page <= last; page = (page | (TOUCH_BLOCK_PAGES - 1)) + 1) {
		uint64_t *bucket = &touches->bucket[touch_bucket(page)];
		uint64_t serial = ++touches->n;

		touches->slot[serial % TOUCHES] =
			(struct touch_slot){.touch = *touch, .older = *bucket};
		*bucket = serial;
	}
}

const struct comm_touch *comm_touches_of(const struct comm_touches *touches, uint64_t datum,
					 bool constant, uint64_t time_ns)
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
	return later;
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
