// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"
#include "hash.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	RELATION_TIERS = 4,
	RELATION_READERS = 2,  /* tiers before: self or other, whoever reads */
	RELATION_WRITERS = 64, /* of one read, at most */
	RELATION_PROBES = 8,
	RELATION_MIN = 1024,
	RELATION_MEMOS = 2048,
	RELATION_NOBODY = UINT32_MAX, /* the reader's own total */
};

/* Reads that the tier above is worth, and the least coarse share to divide by. */
static const double relation_prior[RELATION_TIERS] = {0.5, 0.5, 2, 2};
/* Reads that a tier may be worth to the next: objects and readers differ. */
static const double relation_most[RELATION_TIERS] = {16, 1e9, 1e9, 1e9};
static const double relation_floor = 0.02;
static const double relation_least = 1e-3; /* chance that a surprise counts as */

struct relation {
	uint64_t key;
	float seen, coarse;
};

/* Factors asked for since the last read was learned. */
struct memo {
	uint64_t key;
	double factor;
};

struct comm_affinities {
	struct relation *slot;
	uint32_t mask;
	bool stale; /* the memos are */
	struct memo memo[RELATION_MEMOS];
};

int comm_affinities_create(uint64_t memory_bytes, struct comm_affinities **ret)
{
	struct comm_affinities *r = calloc(1, sizeof(*r));
	uint32_t n = RELATION_MIN;

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

void comm_affinities_destroy(struct comm_affinities *relations)
{
	if (!relations)
		return;
	free(relations->slot);
	free(relations);
}

/*
 * Tier 0: does anybody read his own; 1: the same of an object; 2: reader and
 * object; 3: and site.
 */
static uint64_t relation_key(const struct comm_affinity_reader *reader, uint32_t tier,
			     uint32_t writer)
{
	uint64_t key, place = tier;

	if (tier < RELATION_READERS)
		key = writer == RELATION_NOBODY ? 2 : writer == reader->thread;
	else
		key = (uint64_t)reader->thread << 32 | writer;
	if (tier > 0)
		place |= (uint64_t)reader->object << 8;
	if (tier > 2)
		place ^= (uint64_t)reader->site << 36;
	return comm_hash_mix(key, place) | 1;
}

static struct relation *relation_find(const struct comm_affinities *r, uint64_t key)
{
	for (uint32_t i = 0; i < RELATION_PROBES; i++) {
		struct relation *s = &r->slot[((key >> 20) + i) & r->mask];

		if (s->key == key)
			return s;
		if (!s->key)
			return NULL;
	}
	return NULL;
}

/* Where all probes are taken the least used one goes. */
static struct relation *relation_make(struct comm_affinities *r, uint64_t key)
{
	struct relation *least = NULL;

	for (uint32_t i = 0; i < RELATION_PROBES; i++) {
		struct relation *s = &r->slot[((key >> 20) + i) & r->mask];

		if (s->key == key)
			return s;
		if (!s->key) {
			s->key = key;
			return s;
		}
		if (!least || s->seen + s->coarse < least->seen + least->coarse)
			least = s;
	}
	*least = (struct relation){.key = key};
	return least;
}

/* What a tier makes of the factor before it. */
static double relation_tier(const struct comm_affinities *r,
			    const struct comm_affinity_reader *reader, uint32_t tier,
			    const struct relation *all, uint32_t writer, double factor)
{
	const struct relation *s = relation_find(r, relation_key(reader, tier, writer));
	double mean, scale = 1;

	if (!s)
		return factor;
	mean = s->coarse / all->seen;
	if (mean < relation_floor)
		mean = relation_floor;
	if (all->seen > relation_most[tier])
		scale = relation_most[tier] / all->seen;
	return (scale * s->seen + relation_prior[tier] * factor * mean) /
	       (scale * s->coarse + relation_prior[tier] * mean);
}

static const struct relation *relation_all(const struct comm_affinities *r,
					   const struct comm_affinity_reader *reader, uint32_t tier)
{
	const struct relation *all = relation_find(r, relation_key(reader, tier, RELATION_NOBODY));

	return all && all->seen > 0 ? all : NULL;
}

/* How much better an object's reads are foretold with the tier than without. */
static uint64_t relation_gain_key(const struct comm_affinity_reader *reader, uint32_t tier)
{
	const struct comm_affinity_reader object = {RELATION_NOBODY - tier, reader->object, 0};

	return relation_key(&object, RELATION_READERS, RELATION_NOBODY);
}

static bool relation_helps(const struct comm_affinities *r,
			   const struct comm_affinity_reader *reader, uint32_t tier)
{
	const struct relation *gain = relation_find(r, relation_gain_key(reader, tier));

	return !gain || gain->seen >= gain->coarse;
}

double comm_affinity_factor(struct comm_affinities *relations,
			    const struct comm_affinity_reader *reader, uint32_t writer)
{
	uint64_t key = relation_key(reader, RELATION_TIERS - 1, writer);
	struct memo *memo = &relations->memo[key >> 32 & (RELATION_MEMOS - 1)];
	double factor = 1;

	if (relations->stale) {
		memset(relations->memo, 0, sizeof(relations->memo));
		relations->stale = false;
	}
	if (memo->key == key)
		return memo->factor;

	for (uint32_t tier = 0; tier < RELATION_TIERS; tier++) {
		const struct relation *all = relation_all(relations, reader, tier);

		if (!all)
			break;
		if (relation_helps(relations, reader, tier))
			factor = relation_tier(relations, reader, tier, all, writer, factor);
	}
	*memo = (struct memo){key, factor};
	return factor;
}

/* Log of what was foretold for what was seen. */
static double relation_foretold(const struct comm_affinity_writer *writer, uint32_t n,
				const double *factor)
{
	double sum = 0, foretold = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += writer[i].coarse * factor[i];
	for (uint32_t i = 0; i < n; i++) {
		double p = sum > 0 ? writer[i].coarse * factor[i] / sum : 0;

		if (writer[i].seen > 0)
			foretold += writer[i].seen * log(p > relation_least ? p : relation_least);
	}
	return foretold;
}

/* Asks each tier to foretell the read before it learns of it. */
static void relation_test(struct comm_affinities *r, const struct comm_affinity_reader *reader,
			  const struct comm_affinity_writer *writer, uint32_t n, double weight)
{
	double factor[RELATION_WRITERS], next[RELATION_WRITERS], before, after;

	for (uint32_t i = 0; i < n; i++)
		factor[i] = 1;
	before = relation_foretold(writer, n, factor);
	for (uint32_t tier = 0; tier < RELATION_TIERS; tier++) {
		const struct relation *all = relation_all(r, reader, tier);
		struct relation *gain;
		bool helps;

		if (!all)
			break;
		for (uint32_t i = 0; i < n; i++)
			next[i] = relation_tier(r, reader, tier, all, writer[i].thread, factor[i]);
		after = relation_foretold(writer, n, next);
		helps = relation_helps(r, reader, tier);
		gain = relation_make(r, relation_gain_key(reader, tier));
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

void comm_affinity_learn(struct comm_affinities *relations,
			 const struct comm_affinity_reader *reader,
			 const struct comm_affinity_writer *writer, uint32_t n, double weight)
{
	if (n > RELATION_WRITERS)
		n = RELATION_WRITERS;
	relations->stale = true;
	relation_test(relations, reader, writer, n, weight);
	for (uint32_t tier = 0; tier < RELATION_TIERS; tier++) {
		struct relation *s =
			relation_make(relations, relation_key(reader, tier, RELATION_NOBODY));

		s->seen += (float)weight;
		s->coarse += (float)weight;
		for (uint32_t i = 0; i < n; i++) {
			s = relation_make(relations, relation_key(reader, tier, writer[i].thread));
			s->seen += (float)(weight * writer[i].seen);
			s->coarse += (float)(weight * writer[i].coarse);
		}
	}
}

void comm_affinities_halve(struct comm_affinities *relations)
{
	relations->stale = true;
	for (uint32_t i = 0; i <= relations->mask; i++) {
		relations->slot[i].seen /= 2;
		relations->slot[i].coarse /= 2;
	}
}
