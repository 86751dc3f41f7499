// SPDX-License-Identifier: GPL-2.0-or-later
#include "area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "ids.h"
#include "model.h"

enum {
	AREA_MIN = 4096,
	AREA_CHAIN = 256, /* most actors of an area; the one seen least goes */
};

/* A thread that was once seen to write stays known until it is evicted. */
static const float area_floor = 0.25f;

struct comm_areas {
	struct comm_area *area; /* [1, n_areas) in use or free */
	struct comm_actor *actor;
	uint32_t *bucket;
	uint32_t n_buckets; /* a power of two */
	uint32_t n_areas, area_max, free_areas, area_used;
	uint32_t n_actors, actor_max, free_actors, actor_used;
	uint32_t shift;
	uint32_t epoch;
	uint32_t *actor_bucket;
	uint32_t n_actor_buckets; /* a power of two */
};

int comm_areas_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_areas **ret)
{
	struct comm_areas *r = calloc(1, sizeof(*r));
	uint64_t per =
		sizeof(struct comm_area) + sizeof(struct comm_actor) * 3 / 2 + 5 * sizeof(uint32_t);

	if (!r)
		return -ENOMEM;
	r->area_max = AREA_MIN;
	while (r->area_max < 1u << 28 && (uint64_t)r->area_max * 9 / 8 * per <= memory_bytes)
		r->area_max = r->area_max / 8 * 9;
	r->actor_max = r->area_max / 2 * 3;
	r->n_buckets = 1;
	while (r->n_buckets < r->area_max)
		r->n_buckets *= 2;
	/* Untouched pages of the pools cost nothing: no growing needed. */
	r->area = calloc(r->area_max, sizeof(*r->area));
	r->actor = calloc(r->actor_max, sizeof(*r->actor));
	r->bucket = calloc(r->n_buckets, sizeof(*r->bucket));
	r->n_actor_buckets = 1;
	while (r->n_actor_buckets < r->actor_max)
		r->n_actor_buckets *= 2;
	r->actor_bucket = calloc(r->n_actor_buckets, sizeof(*r->actor_bucket));
	if (!r->area || !r->actor || !r->bucket || !r->actor_bucket) {
		comm_areas_destroy(r);
		return -ENOMEM;
	}
	r->n_areas = r->n_actors = 1;
	while (r->shift < 12 && (1u << r->shift) < granularity_bytes)
		r->shift++;
	*ret = r;
	return 0;
}

void comm_areas_destroy(struct comm_areas *areas)
{
	if (!areas)
		return;
	free(areas->area);
	free(areas->actor);
	free(areas->bucket);
	free(areas->actor_bucket);
	free(areas);
}

uint32_t comm_area_shift(const struct comm_areas *areas, uint32_t level)
{
	return level >= COMM_AREA_OBJECT ? 63 : areas->shift + 3 * level;
}

static uint64_t area_index(const struct comm_areas *r, uint64_t datum, uint32_t level)
{
	/* A variable is one object in all processes, but private copies of it are not one. */
	if (level >= COMM_AREA_OBJECT)
		return datum >> COMM_DATUM_SPACE_SHIFT;
	return datum >> comm_area_shift(r, level);
}

static uint32_t area_hash(const struct comm_areas *r, uint32_t object, uint64_t index,
			  uint32_t level)
{
	return comm_hash_mix(comm_hash_mix(index, object), level) & (r->n_buckets - 1);
}

struct comm_area *comm_area_at(const struct comm_areas *areas, uint32_t area)
{
	return &areas->area[area];
}

struct comm_actor *comm_actor_at(const struct comm_areas *areas, uint32_t actor)
{
	return &areas->actor[actor];
}

uint32_t comm_area_find(struct comm_areas *areas, uint32_t object, uint64_t datum, uint32_t level,
			bool create)
{
	uint64_t index = area_index(areas, datum, level);
	uint32_t hash = area_hash(areas, object, index, level);
	uint32_t at, parent = COMM_AREA_NONE;
	struct comm_area *area;

	for (at = areas->bucket[hash]; at; at = areas->area[at].next) {
		area = &areas->area[at];
		if (area->index == index && area->object == object && area->level == level) {
			area->used = areas->epoch;
			return at;
		}
	}
	if (!create)
		return COMM_AREA_NONE;
	if (level < COMM_AREA_OBJECT) {
		parent = comm_area_find(areas, object, datum, level + 1, true);
		if (!parent)
			return COMM_AREA_NONE;
	}
	if (areas->free_areas) {
		at = areas->free_areas;
		areas->free_areas = areas->area[at].next;
	} else if (areas->n_areas < areas->area_max) {
		at = areas->n_areas++;
	} else {
		return COMM_AREA_NONE;
	}
	areas->area_used++;
	area = &areas->area[at];
	*area = (struct comm_area){.index = index,
				   .object = object,
				   .parent = parent,
				   .next = areas->bucket[hash],
				   .used = areas->epoch,
				   .level = (uint8_t)level};
	areas->bucket[hash] = at;
	if (parent) {
		areas->area[parent].n_children++;
		if (level + 1 < COMM_AREA_OBJECT)
			areas->area[parent].touched |= 1u << (index & 7);
	}
	return at;
}

static uint32_t *actor_bucket(const struct comm_areas *r, uint32_t area, uint32_t thread)
{
	return &r->actor_bucket[comm_hash_mix(area, thread) & (r->n_actor_buckets - 1)];
}

static void actor_unhash(struct comm_areas *r, uint32_t at)
{
	uint32_t *link = actor_bucket(r, r->actor[at].area, r->actor[at].thread);

	while (*link != at)
		link = &r->actor[*link].same_hash;
	*link = r->actor[at].same_hash;
}

/* Takes the actor that was seen least out of an area. */
static uint32_t area_evict(struct comm_areas *areas, struct comm_area *r)
{
	uint32_t *link, *least = &r->actors;
	uint32_t at;

	for (link = least; *link; link = &areas->actor[*link].next) {
		const struct comm_actor *a = &areas->actor[*link];
		const struct comm_actor *old = &areas->actor[*least];

		if (a->n + a->n_read <= old->n + old->n_read)
			least = link;
	}
	at = *least;
	*least = areas->actor[at].next;
	actor_unhash(areas, at);
	r->n_actors--;
	return at;
}

void comm_area_wrote(struct comm_areas *areas, uint32_t line, uint8_t mask)
{
	struct comm_area *r = &areas->area[line];
	uint32_t n = __builtin_popcount(mask & ~r->written);

	r->touched |= mask;
	r->written |= mask;
	while (n && r->parent) {
		r = &areas->area[r->parent];
		r->n_data += (float)n;
	}
}

double comm_area_found(const struct comm_areas *areas, uint32_t area)
{
	uint32_t chain[COMM_AREA_LEVELS], depth = 0;
	double mean = 1, prior = comm_parameter(COMM_P_area_prior);

	for (uint32_t at = area; at; at = areas->area[at].parent)
		chain[depth++] = at;
	while (depth) {
		const struct comm_area *r = &areas->area[chain[--depth]];

		if (r->level > COMM_AREA_LINE)
			mean = (r->n_written + prior * mean) / (r->n_data + prior);
	}
	return mean > 1 ? 1 - 1 / mean : 0;
}

uint32_t comm_actor_find(struct comm_areas *areas, uint32_t area, uint32_t thread, bool create)
{
	struct comm_area *r = &areas->area[area];
	uint32_t *bucket = actor_bucket(areas, area, thread);
	uint32_t at;

	for (at = *bucket; at; at = areas->actor[at].same_hash)
		if (areas->actor[at].area == area && areas->actor[at].thread == thread)
			return at;
	if (!create)
		return 0;
	if (r->n_actors >= AREA_CHAIN) {
		at = area_evict(areas, r);
	} else if (areas->free_actors) {
		at = areas->free_actors;
		areas->free_actors = areas->actor[at].next;
		areas->actor_used++;
	} else if (areas->n_actors < areas->actor_max) {
		at = areas->n_actors++;
		areas->actor_used++;
	} else {
		return 0;
	}
	areas->actor[at] = (struct comm_actor){.thread = thread,
					       .area = area,
					       .next = r->actors,
					       .same_hash = *bucket,
					       .last_ns = -1};
	r->actors = *bucket = at;
	r->n_actors++;
	return at;
}

uint32_t comm_actor_above(struct comm_areas *areas, uint32_t actor, bool create)
{
	struct comm_actor *a = &areas->actor[actor];
	uint32_t area = areas->area[a->area].parent;

	if (!area)
		return 0;
	if (!a->parent || areas->actor[a->parent].thread != a->thread ||
	    areas->actor[a->parent].area != area)
		a->parent = comm_actor_find(areas, area, a->thread, create);
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

bool comm_areas_filling(const struct comm_areas *areas)
{
	return areas->area_used > areas->area_max / 2 || areas->actor_used > areas->actor_max / 2;
}

bool comm_areas_crowded(const struct comm_areas *areas)
{
	return areas->area_used > areas->area_max / 4 * 3 ||
	       areas->actor_used > areas->actor_max / 4 * 3;
}

static void actor_halve(struct comm_actor *a)
{
	if (a->n > 0) {
		float f = a->n > 2 * area_floor ? 0.5f : area_floor / a->n;

		if (f > 1)
			f = 1;
		a->n *= f;
		a->weight *= f;
		a->n_below *= f;
		a->weight_cover *= f;
		for (int i = 0; i < COMM_ACTOR_SITES; i++)
			a->site_weight[i] *= f;
		for (int i = 0; i < COMM_AREA_CHILDREN; i++)
			a->word[i] *= f;
	}
	a->n_read *= 0.5f;
	a->weight_read *= 0.5f;
}

static void area_halve(struct comm_area *r)
{
	r->n /= 2;
	if (r->level > COMM_AREA_LINE) {
		r->n_written /= 2;
		return;
	}
	for (uint32_t i = 0; i < COMM_AREA_CHILDREN; i++)
		r->read[i] /= 2;
}

static void area_forget(struct comm_areas *r, const struct comm_area *line)
{
	uint32_t n = __builtin_popcount(line->written);

	for (uint32_t at = line->parent; at; at = r->area[at].parent)
		r->area[at].n_data -= (float)n;
}

static uint64_t area_free(struct comm_areas *r, uint32_t at)
{
	struct comm_area *area = &r->area[at];
	uint32_t *link = &r->bucket[area_hash(r, area->object, area->index, area->level)];
	uint64_t lost = 0;
	uint32_t actor = area->actors;

	while (*link != at)
		link = &r->area[*link].next;
	*link = area->next;
	while (actor) {
		uint32_t next = r->actor[actor].next;

		lost += r->actor[actor].n > 0;
		actor_unhash(r, actor);
		r->actor[actor] = (struct comm_actor){.next = r->free_actors};
		r->free_actors = actor;
		r->actor_used--;
		actor = next;
	}
	if (area->parent)
		r->area[area->parent].n_children--;
	if (area->level == COMM_AREA_LINE)
		area_forget(r, area);
	*area = (struct comm_area){.next = r->free_areas};
	r->free_areas = at;
	r->area_used--;
	return lost;
}

static bool area_is_thin(const struct comm_areas *r, const struct comm_area *area)
{
	for (uint32_t at = area->actors; at; at = r->actor[at].next)
		if (r->actor[at].n > 1)
			return false;
	return true;
}

/* An area goes only after its children: the last of them takes its parent along. */
static uint64_t areas_free_old(struct comm_areas *areas, uint32_t age, bool thin)
{
	uint64_t lost = 0;

	for (uint32_t i = 1; i < areas->n_areas; i++) {
		uint32_t at = i;

		while (at) {
			const struct comm_area *r = &areas->area[at];
			uint32_t parent = r->parent;

			if (!r->level || r->n_children || areas->epoch - r->used < age ||
			    (thin && !area_is_thin(areas, r)))
				break;
			lost += area_free(areas, at);
			at = parent;
		}
	}
	return lost;
}

uint64_t comm_areas_sweep(struct comm_areas *areas, bool halve)
{
	uint64_t lost = 0;

	if (halve) {
		for (uint32_t i = 1; i < areas->n_actors; i++)
			if (areas->actor[i].area)
				actor_halve(&areas->actor[i]);
		for (uint32_t i = 1; i < areas->n_areas; i++)
			area_halve(&areas->area[i]);
	}
	for (uint32_t age = 64; age && comm_areas_crowded(areas); age /= 4)
		lost += areas_free_old(areas, age, false);
	if (comm_areas_crowded(areas))
		lost += areas_free_old(areas, 0, true);
	if (comm_areas_crowded(areas))
		lost += areas_free_old(areas, 0, false);
	areas->epoch++;
	return lost;
}
