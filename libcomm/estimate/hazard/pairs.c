// SPDX-License-Identifier: GPL-2.0-or-later
#include "pairs.h"

#include "event.h"
#include "hash.h"

#include <errno.h>
#include <stdlib.h>

enum {
	PAIRS_SLOTS = 4096, /* the latest of a slot's places stays */
	PAIRS_SHIFT = 9,    /* places of so many data, log2 */
	PAIRS_HALVE = 256,
};

/* Pairs that the estimator's own share counts as, before any was seen. */
static const double pairs_prior = 4;

struct pairs_place {
	uint64_t key;
	float n, n_self;
};

struct comm_pairs {
	uint32_t shift;
	bool any;
	struct pairs_place place[PAIRS_SLOTS];
};

int comm_pairs_create(uint32_t granularity_bytes, struct comm_pairs **ret)
{
	struct comm_pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->shift = PAIRS_SHIFT;
	while (p->shift < PAIRS_SHIFT + 12 && (1u << (p->shift - PAIRS_SHIFT)) < granularity_bytes)
		p->shift++;
	*ret = p;
	return 0;
}

void comm_pairs_destroy(struct comm_pairs *pairs)
{
	free(pairs);
}

static uint64_t pairs_key(const struct comm_pairs *p, uint32_t reader, uint32_t object,
			  uint64_t datum)
{
	return comm_hash_mix(comm_hash_mix(datum >> p->shift, reader), object) | 1;
}

void comm_pairs_add(struct comm_pairs *pairs, const struct comm_evidence *evidence)
{
	bool first_writes = evidence->first.flags & COMM_ACCESS_WRITE;
	bool second_writes = evidence->second.flags & COMM_ACCESS_WRITE;
	const struct comm_access *read;
	struct pairs_place *place;
	uint32_t reader;
	uint64_t key;

	/*
	 * A write and then a read name the last writer.  A read and then a write name
	 * the next writer, which in the long run is another thread as often as the last.
	 */
	if (first_writes == second_writes)
		return;
	read = first_writes ? &evidence->second : &evidence->first;
	reader = first_writes ? evidence->second_thread : evidence->first_thread;
	key = pairs_key(pairs, reader, read->object, read->datum);
	place = &pairs->place[key >> 32 & (PAIRS_SLOTS - 1)];
	if (place->key != key)
		*place = (struct pairs_place){.key = key};
	if (place->n > PAIRS_HALVE) {
		place->n /= 2;
		place->n_self /= 2;
	}
	place->n++;
	place->n_self += evidence->first_thread == evidence->second_thread;
	pairs->any = true;
}

static const struct pairs_place *pairs_place(const struct comm_pairs *p, uint32_t reader,
					     uint32_t object, uint64_t datum)
{
	uint64_t key = pairs_key(p, reader, object, datum);
	const struct pairs_place *place = &p->place[key >> 32 & (PAIRS_SLOTS - 1)];

	return place->key == key ? place : NULL;
}

bool comm_pairs_any(const struct comm_pairs *pairs, uint32_t reader, uint32_t object,
		    uint64_t datum)
{
	return pairs->any && pairs_place(pairs, reader, object, datum);
}

double comm_pairs_self(const struct comm_pairs *pairs, uint32_t reader, uint32_t object,
		       uint64_t datum, double prior)
{
	const struct pairs_place *place = pairs_place(pairs, reader, object, datum);

	if (!place)
		return prior;
	return (pairs_prior * prior + place->n_self) / (pairs_prior + place->n);
}
