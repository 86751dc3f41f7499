// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"
#include "hash.h"
#include "terms.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	AFFINITY_TIERS = 4,
	AFFINITY_READERS = 2,  /* tiers below it: all readers, self against other */
	AFFINITY_WRITERS = 64, /* of one read, at most */
	AFFINITY_PROBES = 8,
	AFFINITY_MIN = 1024,
	AFFINITY_MEMOS = 2048,
	AFFINITY_NOBODY = UINT32_MAX, /* the reader's own total */
};

/* Reads that the tier above is worth, and the least coarse share to divide by. */
static const double affinity_prior[AFFINITY_TIERS] = {0.5, 0.5, 2, 2};
/* Most reads that a tier counts as a prior of the next: objects and readers differ. */
static const double affinity_most[AFFINITY_TIERS] = {16, 1e9, 1e9, 1e9};
static const double affinity_floor = 0.02;
static const double affinity_least = 1e-3; /* least chance that a writer not foretold is given */

struct affinity {
	uint64_t key;
	float seen, coarse;
};

/* Factors asked for since the last read was learned. */
struct memo {
	uint64_t key;
	double factor;
};

struct comm_affinities {
	struct affinity *slot;
	uint32_t mask;
	bool stale; /* the memos are */
	struct memo memo[AFFINITY_MEMOS];
};

int comm_affinities_create(uint64_t memory_bytes, struct comm_affinities **ret)
{
	struct comm_affinities *r = calloc(1, sizeof(*r));
	uint32_t n = AFFINITY_MIN;

	if (!r)
		return -ENOMEM;
	while (n < 1u << 20 && n * 2 * sizeof(*r->slot) <= memory_bytes)
		n *= 2;
	r->slot = calloc(n, sizeof(*r->slot));
	if (!r->slot) {
		free(r);
		return -ENOMEM;
	}
	r->mask = n - 1;
	*ret = r;
	return 0;
}

void comm_affinities_destroy(struct comm_affinities *affinities)
{
	if (!affinities)
		return;
	free(affinities->slot);
	free(affinities);
}

/*
 * Tier 0: do threads read their own writes; 1: the same within one object; 2: per
 * reader and object; 3: per reader, object and site.
 */
static uint64_t affinity_key(const struct comm_affinity_reader *reader, uint32_t tier,
			     uint32_t writer)
{
	uint64_t key, place = tier;

	if (tier < AFFINITY_READERS)
		key = writer == AFFINITY_NOBODY ? 2 : writer == reader->thread;
	else
		key = (uint64_t)reader->thread << 32 | writer;
	if (tier > 0)
		place |= (uint64_t)reader->object << 8;
	if (tier > 2)
		place ^= (uint64_t)reader->site << 36;
	return comm_hash_mix(key, place) | 1;
}

static struct affinity *affinity_find(const struct comm_affinities *r, uint64_t key)
{
	for (uint32_t i = 0; i < AFFINITY_PROBES; i++) {
		struct affinity *s = &r->slot[((key >> 20) + i) & r->mask];

		if (s->key == key)
			return s;
		if (!s->key)
			return NULL;
	}
	return NULL;
}

/* Where all probed slots are taken, the least used entry is replaced. */
static struct affinity *affinity_make(struct comm_affinities *r, uint64_t key)
{
	struct affinity *least = NULL;

	for (uint32_t i = 0; i < AFFINITY_PROBES; i++) {
		struct affinity *s = &r->slot[((key >> 20) + i) & r->mask];

		if (s->key == key)
			return s;
		if (!s->key) {
			s->key = key;
			return s;
		}
		if (!least || s->seen + s->coarse < least->seen + least->coarse)
			least = s;
	}
	*least = (struct affinity){.key = key};
	return least;
}

/* What a tier makes of the factor before it. */
static double affinity_tier(const struct comm_affinities *r,
			    const struct comm_affinity_reader *reader, uint32_t tier,
			    const struct affinity *all, uint32_t writer, double factor)
{
	const struct affinity *s = affinity_find(r, affinity_key(reader, tier, writer));
	double mean, scale = 1;

	if (!s)
		return factor;
	mean = s->coarse / all->seen;
	if (mean < affinity_floor)
		mean = affinity_floor;
	if (all->seen > affinity_most[tier])
		scale = affinity_most[tier] / all->seen;
	return (scale * s->seen + affinity_prior[tier] * factor * mean) /
	       (scale * s->coarse + affinity_prior[tier] * mean);
}

static const struct affinity *affinity_all(const struct comm_affinities *r,
					   const struct comm_affinity_reader *reader, uint32_t tier)
{
	const struct affinity *all = affinity_find(r, affinity_key(reader, tier, AFFINITY_NOBODY));

	return all && all->seen > 0 ? all : NULL;
}

/* Where an object keeps how much better its reads are foretold with the tier than without. */
static uint64_t affinity_gain_key(const struct comm_affinity_reader *reader, uint32_t tier)
{
	const struct comm_affinity_reader object = {AFFINITY_NOBODY - tier, reader->object, 0};

	return affinity_key(&object, AFFINITY_READERS, AFFINITY_NOBODY);
}

static bool affinity_helps(const struct comm_affinities *r,
			   const struct comm_affinity_reader *reader, uint32_t tier)
{
	const struct affinity *gain = affinity_find(r, affinity_gain_key(reader, tier));

	return !gain || gain->seen >= gain->coarse;
}

double comm_affinity_factor(struct comm_affinities *affinities,
			    const struct comm_affinity_reader *reader, uint32_t writer)
{
	uint64_t key = affinity_key(reader, AFFINITY_TIERS - 1, writer);
	struct memo *memo = &affinities->memo[key >> 32 & (AFFINITY_MEMOS - 1)];
	double factor = 1;

	if (comm_without(COMM_TERM_affinity))
		return 1;
	if (affinities->stale) {
		memset(affinities->memo, 0, sizeof(affinities->memo));
		affinities->stale = false;
	}
	if (memo->key == key)
		return memo->factor;

	for (uint32_t tier = 0; tier < AFFINITY_TIERS; tier++) {
		const struct affinity *all = affinity_all(affinities, reader, tier);

		if (!all)
			break;
		if (affinity_helps(affinities, reader, tier))
			factor = affinity_tier(affinities, reader, tier, all, writer, factor);
	}
	*memo = (struct memo){key, factor};
	return factor;
}

/* Log-likelihood of the writers that were seen, under the shares foretold. */
static double affinity_foretold(const struct comm_affinity_writer *writer, uint32_t n,
				const double *factor)
{
	double sum = 0, foretold = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += writer[i].coarse * factor[i];
	for (uint32_t i = 0; i < n; i++) {
		double p = sum > 0 ? writer[i].coarse * factor[i] / sum : 0;

		if (writer[i].seen > 0)
			foretold += writer[i].seen * log(p > affinity_least ? p : affinity_least);
	}
	return foretold;
}

/* Asks each tier to foretell the read before it learns of it. */
static void affinity_test(struct comm_affinities *r, const struct comm_affinity_reader *reader,
			  const struct comm_affinity_writer *writer, uint32_t n, double weight)
{
	double factor[AFFINITY_WRITERS], next[AFFINITY_WRITERS], before, after;

	for (uint32_t i = 0; i < n; i++)
		factor[i] = 1;
	before = affinity_foretold(writer, n, factor);
	for (uint32_t tier = 0; tier < AFFINITY_TIERS; tier++) {
		const struct affinity *all = affinity_all(r, reader, tier);
		struct affinity *gain;
		bool helps;

		if (!all)
			break;
		for (uint32_t i = 0; i < n; i++)
			next[i] = affinity_tier(r, reader, tier, all, writer[i].thread, factor[i]);
		after = affinity_foretold(writer, n, next);
		helps = affinity_helps(r, reader, tier);
		gain = affinity_make(r, affinity_gain_key(reader, tier));
		if (after > before)
			gain->seen += (float)(weight * (after - before));
		else
			gain->coarse += (float)(weight * (before - after));
		if (!helps)
			continue;
		before = after;
		memcpy(factor, next, n * sizeof(*factor));
	}
}

void comm_affinity_learn(struct comm_affinities *affinities,
			 const struct comm_affinity_reader *reader,
			 const struct comm_affinity_writer *writer, uint32_t n, double weight)
{
	if (n > AFFINITY_WRITERS)
		n = AFFINITY_WRITERS;
	affinities->stale = true;
	affinity_test(affinities, reader, writer, n, weight);
	for (uint32_t tier = 0; tier < AFFINITY_TIERS; tier++) {
		struct affinity *s =
			affinity_make(affinities, affinity_key(reader, tier, AFFINITY_NOBODY));

		s->seen += (float)weight;
		s->coarse += (float)weight;
		for (uint32_t i = 0; i < n; i++) {
			s = affinity_make(affinities, affinity_key(reader, tier, writer[i].thread));
			s->seen += (float)(weight * writer[i].seen);
			s->coarse += (float)(weight * writer[i].coarse);
		}
	}
}

void comm_affinities_halve(struct comm_affinities *affinities)
{
	affinities->stale = true;
	for (uint32_t i = 0; i <= affinities->mask; i++) {
		/* Pages of the table that nothing is in stay the kernel's page of zeros. */
		if (affinities->slot[i].seen == 0 && affinities->slot[i].coarse == 0)
			continue;
		affinities->slot[i].seen /= 2;
		affinities->slot[i].coarse /= 2;
	}
}
