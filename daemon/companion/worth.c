// SPDX-License-Identifier: GPL-2.0-or-later
#include "worth.h"

#include "hash.h"

enum {
	PAGE_SHIFT = 12,
	DATUM_SHIFT = 3,
	DULL_MAX = 6,
	DULL_WRITTEN = 2,
	DULL_OWN = 4,
	MANY = -1,
};

static struct comm_worth_place *place_of(struct comm_worth *worth, uint32_t tgid, uint64_t addr,
					 unsigned int shift)
{
	uint64_t key = comm_hash_mix(addr >> shift, (uint64_t)tgid << 8 | shift) | 1;
	struct comm_worth_place *place = &worth->place[key >> 32 & (COMM_WORTH_PLACES - 1)];

	if (place->key != key)
		*place = (struct comm_worth_place){.key = key};
	return place;
}

static void see_write(struct comm_worth_place *page, uint32_t tid)
{
	page->writer = page->writer && page->writer != (int)tid ? MANY : (int)tid;
}

unsigned int comm_worth_dull(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr)
{
	const struct comm_worth_place *page = place_of(worth, tgid, addr, PAGE_SHIFT);
	unsigned int dull = place_of(worth, tgid, addr, DATUM_SHIFT)->dull;

	dull += page->dull > 1 ? page->dull - 1 : 0;
	if (page->writer == (int)tid)
		dull += DULL_OWN;
	else if (page->written)
		dull += DULL_WRITTEN;
	return dull;
}

void comm_worth_written(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr)
{
	struct comm_worth_place *page = place_of(worth, tgid, addr, PAGE_SHIFT);

	page->written = true;
	see_write(page, tid);
}

void comm_worth_watched(struct comm_worth *worth, uint32_t tgid, uint64_t addr, uint32_t writer)
{
	struct comm_worth_place *page = place_of(worth, tgid, addr, PAGE_SHIFT);
	struct comm_worth_place *datum = place_of(worth, tgid, addr, DATUM_SHIFT);

	datum->dull += datum->dull < DULL_MAX;
	if (writer) {
		page->dull = 0;
		see_write(page, writer);
	} else {
		page->dull += page->dull < DULL_MAX;
	}
}
