// SPDX-License-Identifier: GPL-2.0-or-later
#include "region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ids.h"
#include "model.h"

enum {
	REGION_MIN = 4096,
	REGION_CHAIN = 256, /* most actors of a region; the one seen least goes */
};

/* A thread that was once seen to write stays known until it is evicted. */
static const float region_floor = 0.25f;

struct comm_regions {
	struct comm_region *region; /* [1, n_regions) in use or free */
	struct comm_actor *actor;
	uint32_t *bucket;
	uint32_t n_buckets; /* a power of two */
	uint32_t n_regions, region_max, free_regions, region_used;
	uint32_t n_actors, actor_max, free_actors, actor_used;
	uint32_t shift;
	uint32_t epoch;
	uint32_t *actor_bucket;
	uint32_t n_actor_buckets; /* a power of two */
};

int comm_regions_create(uint64_t memory_bytes, uint32_t granularity_bytes,
			struct comm_regions **ret)
{
	struct comm_regions *r = calloc(1, sizeof(*r));
	uint64_t per = sizeof(struct comm_region) + sizeof(struct comm_actor) * 3 / 2 +
		       5 * sizeof(uint32_t);

	if (!r)
		return -ENOMEM;
	r->region_max = REGION_MIN;
	while (r->region_max < 1u << 28 && (uint64_t)r->region_max * 9 / 8 * per <= memory_bytes)
		r->region_max = r->region_max / 8 * 9;
	r->actor_max = r->region_max / 2 * 3;
	r->n_buckets = 1;
	while (r->n_buckets < r->region_max)
		r->n_buckets *= 2;
	/* Untouched pages of the pools cost nothing: no growing needed. */
	r->region = calloc(r->region_max, sizeof(*r->region));
	r->actor = calloc(r->actor_max, sizeof(*r->actor));
	r->bucket = calloc(r->n_buckets, sizeof(*r->bucket));
	r->n_actor_buckets = 1;
	while (r->n_actor_buckets < r->actor_max)
		r->n_actor_buckets *= 2;
	r->actor_bucket = calloc(r->n_actor_buckets, sizeof(*r->actor_bucket));
	if (!r->region || !r->actor || !r->bucket || !r->actor_bucket) {
		comm_regions_destroy(r);
		return -ENOMEM;
	}
	r->n_regions = r->n_actors = 1;
	while (r->shift < 12 && (1u << r->shift) < granularity_bytes)
		r->shift++;
	*ret = r;
	return 0;
}

void comm_regions_destroy(struct comm_regions *regions)
{
	if (!regions)
		return;
	free(regions->region);
	free(regions->actor);
	free(regions->bucket);
	free(regions->actor_bucket);
	free(regions);
}

uint32_t comm_region_shift(const struct comm_regions *regions, uint32_t level)
{
	return level >= COMM_REGION_OBJECT ? 63 : regions->shift + 3 * level;
}

static uint64_t region_index(const struct comm_regions *r, uint64_t datum, uint32_t level)
{
	/* A variable is one object in all processes, but private copies of it are not one. */
	if (level >= COMM_REGION_OBJECT)
		return datum >> COMM_DATUM_SPACE_SHIFT;
	return datum >> comm_region_shift(r, level);
}

static uint32_t region_hash(const struct comm_regions *r, uint32_t object, uint64_t index,
			    uint32_t level)
{
	return comm_hash_mix(comm_hash_mix(index, object), level) & (r->n_buckets - 1);
}

struct comm_region *comm_region_at(const struct comm_regions *regions, uint32_t region)
{
	return &regions->region[region];
}

struct comm_actor *comm_actor_at(const struct comm_regions *regions, uint32_t actor)
{
	return &regions->actor[actor];
}

uint32_t comm_region_find(struct comm_regions *regions, uint32_t object, uint64_t datum,
			  uint32_t level, bool create)
{
	uint64_t index = region_index(regions, datum, level);
	uint32_t hash = region_hash(regions, object, index, level);
	uint32_t at, parent = COMM_REGION_NONE;
	struct comm_region *region;

	for (at = regions->bucket[hash]; at; at = regions->region[at].next) {
		region = &regions->region[at];
		if (region->index == index && region->object == object && region->level == level) {
			region->used = regions->epoch;
			return at;
		}
	}
	if (!create)
		return COMM_REGION_NONE;
	if (level < COMM_REGION_OBJECT) {
		parent = comm_region_find(regions, object, datum, level + 1, true);
		if (!parent)
			return COMM_REGION_NONE;
	}
	if (regions->free_regions) {
		at = regions->free_regions;
		regions->free_regions = regions->region[at].next;
	} else if (regions->n_regions < regions->region_max) {
		at = regions->n_regions++;
	} else {
		return COMM_REGION_NONE;
	}
	regions->region_used++;
	region = &regions->region[at];
	*region = (struct comm_region){.index = index,
				       .object = object,
				       .parent = parent,
				       .next = regions->bucket[hash],
				       .used = regions->epoch,
				       .level = (uint8_t)level};
	regions->bucket[hash] = at;
	if (parent) {
		regions->region[parent].n_children++;
		if (level + 1 < COMM_REGION_OBJECT)
			regions->region[parent].touched |= 1u << (index & 7);
	}
	return at;
}

static uint32_t *actor_bucket(const struct comm_regions *r, uint32_t region, uint32_t thread)
{
	return &r->actor_bucket[comm_hash_mix(region, thread) & (r->n_actor_buckets - 1)];
}

static void actor_unhash(struct comm_regions *r, uint32_t at)
{
	uint32_t *link = actor_bucket(r, r->actor[at].region, r->actor[at].thread);

	while (*link != at)
		link = &r->actor[*link].same_hash;
	*link = r->actor[at].same_hash;
}

/* Takes the actor that was seen least out of a region. */
static uint32_t region_evict(struct comm_regions *regions, struct comm_region *r)
{
	uint32_t *link, *least = &r->actors;
	uint32_t at;

	for (link = least; *link; link = &regions->actor[*link].next) {
		const struct comm_actor *a = &regions->actor[*link];
		const struct comm_actor *old = &regions->actor[*least];

		if (a->n + a->n_read <= old->n + old->n_read)
			least = link;
	}
	at = *least;
	*least = regions->actor[at].next;
	actor_unhash(regions, at);
	r->n_actors--;
	return at;
}

void comm_region_wrote(struct comm_regions *regions, uint32_t line, uint8_t mask)
{
	struct comm_region *r = &regions->region[line];
	uint32_t n = __builtin_popcount(mask & ~r->written);

	r->touched |= mask;
	r->written |= mask;
	while (n && r->parent) {
		r = &regions->region[r->parent];
		r->n_data += (float)n;
	}
}

double comm_region_found(const struct comm_regions *regions, uint32_t region)
{
	uint32_t chain[COMM_REGION_LEVELS], depth = 0;
	double mean = 1, prior = comm_parameter(COMM_P_region_prior);

	for (uint32_t at = region; at; at = regions->region[at].parent)
		chain[depth++] = at;
	while (depth) {
		const struct comm_region *r = &regions->region[chain[--depth]];

		if (r->level > COMM_REGION_LINE)
			mean = (r->n_written + prior * mean) / (r->n_data + prior);
	}
	return mean > 1 ? 1 - 1 / mean : 0;
}

uint32_t comm_actor_find(struct comm_regions *regions, uint32_t region, uint32_t thread,
			 bool create)
{
	struct comm_region *r = &regions->region[region];
	uint32_t *bucket = actor_bucket(regions, region, thread);
	uint32_t at;

	for (at = *bucket; at; at = regions->actor[at].same_hash)
		if (regions->actor[at].region == region && regions->actor[at].thread == thread)
			return at;
	if (!create)
		return 0;
	if (r->n_actors >= REGION_CHAIN) {
		at = region_evict(regions, r);
	} else if (regions->free_actors) {
		at = regions->free_actors;
		regions->free_actors = regions->actor[at].next;
		regions->actor_used++;
	} else if (regions->n_actors < regions->actor_max) {
		at = regions->n_actors++;
		regions->actor_used++;
	} else {
		return 0;
	}
	regions->actor[at] = (struct comm_actor){.thread = thread,
						 .region = region,
						 .next = r->actors,
						 .same_hash = *bucket,
						 .last_ns = -1};
	r->actors = *bucket = at;
	r->n_actors++;
	return at;
}

uint32_t comm_actor_above(struct comm_regions *regions, uint32_t actor, bool create)
{
	struct comm_actor *a = &regions->actor[actor];
	uint32_t region = regions->region[a->region].parent;

	if (!region)
		return 0;
	if (!a->parent || regions->actor[a->parent].thread != a->thread ||
	    regions->actor[a->parent].region != region)
		a->parent = comm_actor_find(regions, region, a->thread, create);
	return a->parent;
}

/* The heaviest sites, by the space-saving algorithm. */
void comm_actor_add_site(struct comm_actor *actor, uint32_t site, float weight, uint8_t words)
{
	int least = 0;

	for (int i = 0; i < COMM_ACTOR_SITES; i++) {
		if (actor->site_weight[i] > 0 && actor->site[i] == site) {
			actor->site_weight[i] += weight;
			actor->site_words[i] |= words;
			return;
		}
		if (actor->site_weight[i] < actor->site_weight[least])
			least = i;
	}
	actor->site[least] = site;
	actor->site_weight[least] += weight;
	actor->site_words[least] = words;
}

uint32_t comm_actor_sites(const struct comm_actor *actor, bool datum, uint32_t word,
			  uint32_t *ret_site, double *ret_part)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < COMM_ACTOR_SITES; i++) {
		if (actor->site_weight[i] <= 0 || (datum && !(actor->site_words[i] >> word & 1)))
			continue;
		ret_site[n] = actor->site[i];
		ret_part[n++] = actor->site_weight[i];
		sum += actor->site_weight[i];
	}
	for (uint32_t i = 0; i < n; i++)
		ret_part[i] /= sum;
	if (n)
		return n;
	ret_site[0] = COMM_ID_OTHER;
	ret_part[0] = 1;
	return 1;
}

bool comm_regions_filling(const struct comm_regions *regions)
{
	return regions->region_used > regions->region_max / 2 ||
	       regions->actor_used > regions->actor_max / 2;
}

bool comm_regions_crowded(const struct comm_regions *regions)
{
	return regions->region_used > regions->region_max / 4 * 3 ||
	       regions->actor_used > regions->actor_max / 4 * 3;
}

static void actor_halve(struct comm_actor *a)
{
	if (a->n > 0) {
		float f = a->n > 2 * region_floor ? 0.5f : region_floor / a->n;

		if (f > 1)
			f = 1;
		a->n *= f;
		a->weight *= f;
		a->n_below *= f;
		a->weight_cover *= f;
		for (int i = 0; i < COMM_ACTOR_SITES; i++)
			a->site_weight[i] *= f;
		for (int i = 0; i < COMM_REGION_CHILDREN; i++)
			a->word[i] *= f;
	}
	a->n_read *= 0.5f;
	a->weight_read *= 0.5f;
}

static void region_halve(struct comm_region *r)
{
	r->n /= 2;
	if (r->level > COMM_REGION_LINE) {
		r->n_written /= 2;
		return;
	}
	for (uint32_t i = 0; i < COMM_REGION_CHILDREN; i++)
		r->read[i] /= 2;
}

static void region_forget(struct comm_regions *r, const struct comm_region *line)
{
	uint32_t n = __builtin_popcount(line->written);

	for (uint32_t at = line->parent; at; at = r->region[at].parent)
		r->region[at].n_data -= (float)n;
}

static uint64_t region_free(struct comm_regions *r, uint32_t at)
{
	struct comm_region *region = &r->region[at];
	uint32_t *link = &r->bucket[region_hash(r, region->object, region->index, region->level)];
	uint64_t lost = 0;
	uint32_t actor = region->actors;

	while (*link != at)
		link = &r->region[*link].next;
	*link = region->next;
	while (actor) {
		uint32_t next = r->actor[actor].next;

		lost += r->actor[actor].n > 0;
		actor_unhash(r, actor);
		r->actor[actor] = (struct comm_actor){.next = r->free_actors};
		r->free_actors = actor;
		r->actor_used--;
		actor = next;
	}
	if (region->parent)
		r->region[region->parent].n_children--;
	if (region->level == COMM_REGION_LINE)
		region_forget(r, region);
	*region = (struct comm_region){.next = r->free_regions};
	r->free_regions = at;
	r->region_used--;
	return lost;
}

static bool region_is_thin(const struct comm_regions *r, const struct comm_region *region)
{
	for (uint32_t at = region->actors; at; at = r->actor[at].next)
		if (r->actor[at].n > 1)
			return false;
	return true;
}

/* A region goes only after its children: the last of them takes its parent along. */
static uint64_t regions_free_old(struct comm_regions *regions, uint32_t age, bool thin)
{
	uint64_t lost = 0;

	for (uint32_t i = 1; i < regions->n_regions; i++) {
		uint32_t at = i;

		while (at) {
			const struct comm_region *r = &regions->region[at];
			uint32_t parent = r->parent;

			if (!r->level || r->n_children || regions->epoch - r->used < age ||
			    (thin && !region_is_thin(regions, r)))
				break;
			lost += region_free(regions, at);
			at = parent;
		}
	}
	return lost;
}

uint64_t comm_regions_sweep(struct comm_regions *regions, bool halve)
{
	uint64_t lost = 0;

	if (halve) {
		for (uint32_t i = 1; i < regions->n_actors; i++)
			if (regions->actor[i].region)
				actor_halve(&regions->actor[i]);
		for (uint32_t i = 1; i < regions->n_regions; i++)
			region_halve(&regions->region[i]);
	}
	for (uint32_t age = 64; age && comm_regions_crowded(regions); age /= 4)
		lost += regions_free_old(regions, age, false);
	if (comm_regions_crowded(regions))
		lost += regions_free_old(regions, 0, true);
	if (comm_regions_crowded(regions))
		lost += regions_free_old(regions, 0, false);
	regions->epoch++;
	return lost;
}
