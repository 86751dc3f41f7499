// SPDX-License-Identifier: GPL-2.0-or-later
#include "worth.h"

#include <math.h>

#include "hash.h"

enum {
	PAGE_SHIFT = 12,
	DATUM_SHIFT = 3,
	/* So many of so many reads are taken for a loop's that waits.  Chosen on redis alone. */
	POLLED_READS = 4,
	POLLED_OF = 256,
	DULL = 2,
	DULL_MAX = 4,
	MANY = -1,
};

static struct comm_worth_place *page_of(struct comm_worth *worth, uint32_t tgid, uint64_t addr)
{
	uint64_t key = comm_hash_mix(addr >> PAGE_SHIFT, tgid) | 1;
	struct comm_worth_place *place = &worth->place[key >> 32 & (COMM_WORTH_PLACES - 1)];

	if (place->key != key)
		*place = (struct comm_worth_place){.key = key};
	return place;
}

static void see_write(struct comm_worth_place *page, uint32_t tid)
{
	page->writer = page->writer && page->writer != (int)tid ? MANY : (int)tid;
}

double comm_worth_share(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr)
{
	const struct comm_worth_place *page = page_of(worth, tgid, addr);
	double share = page->dull < DULL ? 1 : page->dull < DULL_MAX ? 0.5 : 0.25;

	return page->writer == (int)tid ? share / 2 : share;
}

bool comm_worth_polled(struct comm_worth *worth, uint32_t tgid, uint64_t ip, uint64_t addr)
{
	uint64_t key = comm_hash_mix(addr >> DATUM_SHIFT, ip ^ (uint64_t)tgid << 32) | 1;
	struct comm_worth_read *read = &worth->read[key >> 32 & (COMM_WORTH_READS - 1)];
	uint64_t number = ++worth->n_reads;

	if (read->key != key)
		*read = (struct comm_worth_read){.key = key, .last = number};
	read->n = read->n * expf(-(float)(number - read->last) / POLLED_OF) + 1;
	read->last = number;
	return read->n >= POLLED_READS;
}

void comm_worth_written(struct comm_worth *worth, uint32_t tgid, uint32_t tid, uint64_t addr)
{
	struct comm_worth_place *page = page_of(worth, tgid, addr);

	see_write(page, tid);
}

void comm_worth_watched(struct comm_worth *worth, uint32_t tgid, uint64_t addr, uint32_t writer)
{
	struct comm_worth_place *page = page_of(worth, tgid, addr);

	if (writer) {
		page->dull = 0;
		see_write(page, writer);
	} else {
		page->dull += page->dull < DULL_MAX;
	}
}
