// SPDX-License-Identifier: GPL-2.0-or-later
#include "edge_sums.h"
#include "keyed.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	EDGE_SUMS_MIN = 1024,
	EDGE_SUMS_BURST = 1024,	  /* edges of one burst */
	EDGE_SUMS_RESERVE = 1024, /* kept for folded edges */
	EDGE_SUMS_OTHER = 0,	  /* the edge from and to thread 0 */
};

struct edge_sum {
	struct comm_edge edge;
	double now, first_now; /* of the burst at hand */
	bool touched;
};

_Static_assert(offsetof(struct edge_sum, edge.object) == offsetof(struct comm_edge_key, object),
	       "an edge begins with its key");

static const struct comm_keyed_kind edge_sums_kind = {
	COMM_KEYED_BYTES(struct edge_sum, edge.object)};

struct comm_edge_sums {
	COMM_KEYED(keyed, struct edge_sum, sum, n); /* the first one (other) */
	size_t n_max;
	uint32_t n_touched;
	uint64_t folded;
	size_t touched[EDGE_SUMS_BURST];
};

/* Leaves the edge that all can be folded into. */
static int edge_sums_clear(struct comm_edge_sums *map)
{
	size_t at;

	comm_keyed_clear(&map->keyed);
	return comm_keyed_at(&map->keyed, &edge_sums_kind, &(struct comm_edge_key){0}, &at);
}

int comm_edge_sums_create(uint64_t memory_bytes, struct comm_edge_sums **ret)
{
	struct comm_edge_sums *map = calloc(1, sizeof(*map));
	uint64_t per_edge = sizeof(struct edge_sum) + 2 * sizeof(uint32_t);

	if (!map)
		return -ENOMEM;
	map->n_max = EDGE_SUMS_MIN * 4;
	while (map->n_max < 1u << 24 && map->n_max * 2 * per_edge <= memory_bytes)
		map->n_max *= 2;
	if (edge_sums_clear(map)) {
		comm_edge_sums_destroy(map);
		return -ENOMEM;
	}
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
	comm_keyed_deinit(&map->keyed);
	free(map);
}

/* False: there is none, and all room but the reserve is taken. */
static bool edge_sums_at(struct comm_edge_sums *map, const struct comm_edge_key *key,
			 size_t reserve, size_t *ret)
{
	const struct edge_sum *known = comm_keyed_find(&map->keyed, &edge_sums_kind, key);

	if (known) {
		*ret = (size_t)(known - map->sum);
		return true;
	}
	return map->n + reserve < map->n_max &&
	       !comm_keyed_at(&map->keyed, &edge_sums_kind, key, ret);
}

/* The edge of two threads whose sites are not told apart any more. */
static size_t edge_sums_fold(struct comm_edge_sums *map, const struct comm_edge_key *key)
{
	struct comm_edge_key threads = {.src_thread = key->src_thread,
					.dst_thread = key->dst_thread};
	size_t at;

	map->folded++;
	return edge_sums_at(map, &threads, 0, &at) ? at : EDGE_SUMS_OTHER;
}

void comm_edge_sums_add_known(struct comm_edge_sums *map, const struct comm_edge_key *key,
			      double bytes, double first_bytes, uint8_t level,
			      const struct comm_edge_known *known)
{
	struct edge_sum *s;
	size_t at;

	if (!edge_sums_at(map, key, EDGE_SUMS_RESERVE, &at))
		at = edge_sums_fold(map, key);
	s = &map->sum[at];
	if (!s->touched) {
		if (map->n_touched == EDGE_SUMS_BURST)
			comm_edge_sums_end_burst(map);
		s->touched = true;
		map->touched[map->n_touched++] = at;
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
		struct edge_sum *s = &map->sum[map->touched[i]];
		double pair = 0, first_pair = 0;

		for (uint32_t j = 0; j < map->n_touched; j++) {
			const struct edge_sum *o = &map->sum[map->touched[j]];

			if (o->edge.src_thread != s->edge.src_thread ||
			    o->edge.dst_thread != s->edge.dst_thread)
				continue;
			pair += o->now;
			first_pair += o->first_now;
		}
		s->edge.bytes += s->now;
		s->edge.first_bytes += s->first_now;
		s->edge.variance += s->now * pair;
		s->edge.first_variance += s->first_now * first_pair;
		s->edge.bursts++;
	}
	for (uint32_t i = 0; i < map->n_touched; i++) {
		struct edge_sum *s = &map->sum[map->touched[i]];

		s->now = s->first_now = 0;
		s->touched = false;
	}
	map->n_touched = 0;
}

void comm_edge_sums_emit(struct comm_edge_sums *map, comm_edge_fn *emit, void *ctx)
{
	comm_edge_sums_end_burst(map);
	for (size_t i = EDGE_SUMS_OTHER; i < map->n; i++) {
		struct edge_sum *s = &map->sum[i];

		if (i > EDGE_SUMS_OTHER || s->edge.bursts)
			emit(ctx, &s->edge);
	}
	/* There is room for one: it cannot fail. */
	edge_sums_clear(map);
}
