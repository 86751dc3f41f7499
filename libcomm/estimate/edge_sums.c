// SPDX-License-Identifier: GPL-2.0-or-later
#include "edge_sums.h"
#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	EDGE_SUMS_MIN = 1024,
	EDGE_SUMS_BURST = 1024,	  /* edges of one burst */
	EDGE_SUMS_RESERVE = 1024, /* kept for folded edges */
	EDGE_SUMS_OTHER = 1,	  /* the slot of the edge from and to thread 0 */
};

struct edge_slot {
	struct comm_edge edge;
	double now, first_now; /* of the burst at hand, without guesses */
	double guess_now, first_guess_now;
	uint32_t guess_bursts; /* that gave nothing but guesses */
	uint32_t next;	       /* of the same hash, 0 ends */
	bool touched;
};

struct comm_edge_sums {
	struct edge_slot *slot; /* [1, n], the first one (other); 0 ends chains */
	uint32_t *bucket;
	uint32_t n, n_alloc, n_max; /* n_alloc: a power of two, also buckets */
	uint32_t n_touched;
	uint64_t folded;
	uint32_t touched[EDGE_SUMS_BURST];
};

static int edge_sums_resize(struct comm_edge_sums *map, uint32_t n_alloc);
static void edge_sums_clear(struct comm_edge_sums *map);

int comm_edge_sums_create(uint64_t memory_bytes, struct comm_edge_sums **ret)
{
	struct comm_edge_sums *map = calloc(1, sizeof(*map));
	uint64_t per_edge = sizeof(struct edge_slot) + sizeof(uint32_t);

	if (!map)
		return -ENOMEM;
	map->n_max = EDGE_SUMS_MIN * 4;
	while (map->n_max < 1u << 24 && map->n_max * 2 * per_edge <= memory_bytes)
		map->n_max *= 2;
	if (edge_sums_resize(map, EDGE_SUMS_MIN)) {
		comm_edge_sums_destroy(map);
		return -ENOMEM;
	}
	edge_sums_clear(map);
	*ret = map;
	return 0;
}

uint64_t comm_edge_sums_folded(const struct comm_edge_sums *map)
{
	return map->folded;
}

void comm_edge_sums_destroy(struct comm_edge_sums *map)
{
	if (!map)
		return;
	free(map->slot);
	free(map->bucket);
	free(map);
}

static uint32_t edge_sums_hash(const struct comm_edge_sums *map, const struct comm_edge_key *key)
{
	uint64_t threads = (uint64_t)key->src_thread << 32 | key->dst_thread;
	uint64_t sites = (uint64_t)key->src_site << 32 | key->dst_site;

	return comm_hash_mix(comm_hash_mix(threads, sites), key->object) & (map->n_alloc - 1);
}

static void edge_sums_link(struct comm_edge_sums *map, uint32_t at)
{
	const struct comm_edge *e = &map->slot[at].edge;
	uint32_t hash =
		edge_sums_hash(map, &(struct comm_edge_key){e->src_thread, e->src_site,
							    e->dst_thread, e->dst_site, e->object});

	map->slot[at].next = map->bucket[hash];
	map->bucket[hash] = at;
}

static int edge_sums_resize(struct comm_edge_sums *map, uint32_t n_alloc)
{
	struct edge_slot *slot;
	uint32_t *bucket = calloc(n_alloc, sizeof(*bucket));

	if (!bucket)
		return -ENOMEM;
	slot = realloc(map->slot, ((size_t)n_alloc + 1) * sizeof(*slot));
	if (!slot) {
		free(bucket);
		return -ENOMEM;
	}
	free(map->bucket);
	map->slot = slot;
	map->bucket = bucket;
	map->n_alloc = n_alloc;
	for (uint32_t i = 1; i <= map->n; i++)
		edge_sums_link(map, i);
	return 0;
}

/* Leaves the edge that all can be folded into. */
static void edge_sums_clear(struct comm_edge_sums *map)
{
	memset(map->bucket, 0, map->n_alloc * sizeof(*map->bucket));
	map->n = EDGE_SUMS_OTHER;
	map->slot[EDGE_SUMS_OTHER] = (struct edge_slot){0};
	edge_sums_link(map, EDGE_SUMS_OTHER);
}

static uint32_t edge_sums_find(const struct comm_edge_sums *map, const struct comm_edge_key *key)
{
	uint32_t at = map->bucket[edge_sums_hash(map, key)];

	for (; at; at = map->slot[at].next) {
		const struct comm_edge *e = &map->slot[at].edge;

		if (e->src_thread == key->src_thread && e->dst_thread == key->dst_thread &&
		    e->src_site == key->src_site && e->dst_site == key->dst_site &&
		    e->object == key->object)
			break;
	}
	return at;
}

static uint32_t edge_sums_new(struct comm_edge_sums *map, const struct comm_edge_key *key,
			      uint32_t reserve)
{
	if (map->n + reserve >= map->n_max)
		return 0;
	if (map->n == map->n_alloc && edge_sums_resize(map, map->n_alloc * 2))
		return 0;
	map->slot[++map->n] = (struct edge_slot){.edge = {.src_thread = key->src_thread,
							  .src_site = key->src_site,
							  .dst_thread = key->dst_thread,
							  .dst_site = key->dst_site,
							  .object = key->object}};
	edge_sums_link(map, map->n);
	return map->n;
}

/* The edge of two threads whose sites are not told apart any more. */
static uint32_t edge_sums_fold(struct comm_edge_sums *map, const struct comm_edge_key *key)
{
	struct comm_edge_key fold = {.src_thread = key->src_thread, .dst_thread = key->dst_thread};
	uint32_t at = edge_sums_find(map, &fold);

	map->folded++;
	if (!at)
		at = edge_sums_new(map, &fold, 0);
	return at ? at : EDGE_SUMS_OTHER;
}

void comm_edge_sums_add_known(struct comm_edge_sums *map, const struct comm_edge_key *key,
			      double bytes, double first_bytes, uint8_t level,
			      const struct comm_edge_known *known)
{
	uint32_t at = edge_sums_find(map, key);
	struct edge_slot *s;

	if (!at)
		at = edge_sums_new(map, key, EDGE_SUMS_RESERVE);
	if (!at)
		at = edge_sums_fold(map, key);
	s = &map->slot[at];
	if (!s->touched) {
		if (map->n_touched == EDGE_SUMS_BURST)
			comm_edge_sums_end_burst(map);
		s->touched = true;
		map->touched[map->n_touched++] = at;
	}
	if (level >= COMM_LEVEL_OBJECT) {
		s->guess_now += bytes;
		s->first_guess_now += first_bytes;
		return;
	}
	s->now += bytes;
	s->first_now += first_bytes;
	if (level > s->edge.level)
		s->edge.level = level;
	comm_doubts_add(&s->edge.doubts, &known->doubts, bytes);
	if (known->ages)
		comm_ages_add(&s->edge.ages, known->ages, bytes);
}

void comm_edge_sums_add(struct comm_edge_sums *map, const struct comm_edge_key *key, double bytes,
			double first_bytes, uint8_t level)
{
	comm_edge_sums_add_known(map, key, bytes, first_bytes, level, &(struct comm_edge_known){0});
}

void comm_edge_sums_end_burst(struct comm_edge_sums *map)
{
	for (uint32_t i = 0; i < map->n_touched; i++) {
		struct edge_slot *s = &map->slot[map->touched[i]];
		double pair = 0, first_pair = 0;

		for (uint32_t j = 0; j < map->n_touched; j++) {
			const struct edge_slot *o = &map->slot[map->touched[j]];

			if (o->edge.src_thread != s->edge.src_thread ||
			    o->edge.dst_thread != s->edge.dst_thread)
				continue;
			pair += o->now;
			first_pair += o->first_now;
		}
		s->edge.bytes += s->now + s->guess_now;
		s->edge.first_bytes += s->first_now + s->first_guess_now;
		s->edge.guess_bytes += s->guess_now;
		s->edge.guess_first_bytes += s->first_guess_now;
		s->edge.variance += s->now * pair;
		s->edge.first_variance += s->first_now * first_pair;
		*(s->now > 0 || !(s->guess_now > 0) ? &s->edge.bursts : &s->guess_bursts) += 1;
	}
	for (uint32_t i = 0; i < map->n_touched; i++) {
		struct edge_slot *s = &map->slot[map->touched[i]];

		s->now = s->first_now = s->guess_now = s->first_guess_now = 0;
		s->touched = false;
	}
	map->n_touched = 0;
}

void comm_edge_sums_emit(struct comm_edge_sums *map, comm_edge_fn *emit, void *ctx)
{
	comm_edge_sums_end_burst(map);
	for (uint32_t i = EDGE_SUMS_OTHER; i <= map->n; i++) {
		struct edge_slot *s = &map->slot[i];

		if (!s->edge.bursts && s->guess_bursts) {
			s->edge.bursts = s->guess_bursts;
			s->edge.level = COMM_LEVEL_OBJECT;
		}
		if (i > EDGE_SUMS_OTHER || s->edge.bursts)
			emit(ctx, &s->edge);
	}
	edge_sums_clear(map);
}
