// SPDX-License-Identifier: GPL-2.0-or-later
#include "nest.h"

#include "hash.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	NEST_STEP_BITS = 3,
	NEST_OBJECT_SHIFT = 63,
	NEST_VOTES_PER_REGION = 2,
};

struct nest_region {
	uint64_t index, first_ns;
	uint32_t object;
	uint32_t votes;			/* first of its list; 0 ends */
	uint32_t last_read, last_write; /* bursts */
	uint32_t n_reads, n_writes;
	uint8_t level;
};

struct nest_vote {
	uint32_t thread, site, next;
	uint32_t last; /* burst */
	uint32_t n;
};

struct comm_nest {
	struct nest_region *region; /* [1, n_regions) */
	struct nest_vote *vote;	    /* [1, n_votes) */
	uint32_t *bucket;
	uint32_t n_regions, max_regions, n_votes, max_votes, n_buckets;
	uint32_t shift;	 /* log2 of the granularity */
	uint32_t tidied; /* the latest burst at the last tidying */
	uint32_t latest;
	uint64_t lost; /* votes and reads without a place, since the last tidying */
};

int comm_nest_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_nest **ret)
{
	uint64_t each = sizeof(struct nest_region) +
			NEST_VOTES_PER_REGION * sizeof(struct nest_vote) + 4 * sizeof(uint32_t);
	struct comm_nest *nest = calloc(1, sizeof(*nest));

	if (!nest)
		return -ENOMEM;
	while (1u << nest->shift < granularity_bytes)
		nest->shift++;
	nest->max_regions = 1024;
	while (nest->max_regions < 1u << 24 && nest->max_regions * 2 * each <= memory_bytes)
		nest->max_regions *= 2;
	nest->max_votes = nest->max_regions * NEST_VOTES_PER_REGION;
	nest->n_buckets = nest->max_regions * 2;
	nest->n_regions = nest->n_votes = 1;
	nest->region = calloc(nest->max_regions, sizeof(*nest->region));
	nest->vote = calloc(nest->max_votes, sizeof(*nest->vote));
	nest->bucket = calloc(nest->n_buckets, sizeof(*nest->bucket));
	if (!nest->region || !nest->vote || !nest->bucket) {
		comm_nest_destroy(nest);
		return -ENOMEM;
	}
	*ret = nest;
	return 0;
}

void comm_nest_destroy(struct comm_nest *nest)
{
	if (!nest)
		return;
	free(nest->region);
	free(nest->vote);
	free(nest->bucket);
	free(nest);
}

static uint64_t nest_index(const struct comm_nest *nest, uint64_t datum, uint32_t level)
{
	return level == COMM_NEST_OBJECT ? 0 : datum >> (nest->shift + NEST_STEP_BITS * level);
}

/* The bucket of a region, or the free one where it belongs. */
static uint32_t nest_bucket(const struct comm_nest *nest, uint32_t object, uint64_t index,
			    uint32_t level)
{
	uint64_t h = comm_hash_mix(comm_hash_mix(index, object), level + 1);

	for (;; h++) {
		uint32_t at = (uint32_t)h & (nest->n_buckets - 1);
		const struct nest_region *r = &nest->region[nest->bucket[at]];

		if (!nest->bucket[at] ||
		    (r->index == index && r->object == object && r->level == level))
			return at;
	}
}

static struct nest_region *nest_make(struct comm_nest *nest, uint32_t object, uint64_t datum,
				     uint32_t level)
{
	uint64_t index = nest_index(nest, datum, level);
	uint32_t at = nest_bucket(nest, object, index, level);

	if (!nest->bucket[at]) {
		if (nest->n_regions == nest->max_regions) {
			nest->lost++;
			return NULL;
		}
		nest->region[nest->n_regions] = (struct nest_region){
			.index = index, .object = object, .level = (uint8_t)level};
		nest->bucket[at] = nest->n_regions++;
	}
	return &nest->region[nest->bucket[at]];
}

static void nest_vote(struct comm_nest *nest, struct nest_region *region, uint32_t burst,
		      uint32_t thread, uint32_t site)
{
	struct nest_vote *v;
	uint32_t at = region->votes;

	while (at && nest->vote[at].thread != thread)
		at = nest->vote[at].next;
	if (!at) {
		if (nest->n_votes == nest->max_votes) {
			nest->lost++;
			return;
		}
		at = nest->n_votes++;
		nest->vote[at] = (struct nest_vote){.thread = thread, .next = region->votes};
		region->votes = at;
	}
	v = &nest->vote[at];
	v->site = site;
	if (v->last == burst)
		return;
	v->last = burst;
	v->n++;
	if (region->last_write != burst) {
		region->last_write = burst;
		region->n_writes++;
	}
}

void comm_nest_write(struct comm_nest *nest, uint32_t object, uint64_t datum, uint32_t from,
		     uint32_t to, uint32_t burst, uint32_t thread, uint32_t site)
{
	nest->latest = burst;
	/* The object first: where there is no room left, the coarse regions are there. */
	for (uint32_t level = to; level-- > from;) {
		struct nest_region *r = nest_make(nest, object, datum, level);

		if (!r)
			return;
		nest_vote(nest, r, burst, thread, site);
	}
}

void comm_nest_read(struct comm_nest *nest, uint32_t object, uint64_t datum, uint32_t burst,
		    uint64_t time_ns)
{
	nest->latest = burst;
	for (uint32_t i = COMM_NEST_LEVELS; i > 0; i--) {
		struct nest_region *r = nest_make(nest, object, datum, i - 1);

		if (!r)
			return;
		if (!r->n_reads)
			r->first_ns = time_ns;
		if (r->last_read == burst)
			continue;
		r->last_read = burst;
		r->n_reads++;
	}
}

static struct comm_nest_voter *view_voter(struct comm_nest_view *view, const struct nest_vote *vote)
{
	uint32_t i = 0;

	while (i < view->n && view->voter[i].thread != vote->thread)
		i++;
	if (i == OWNERSHIP_CANDIDATES)
		return NULL;
	if (i == view->n) {
		view->voter[i] = (struct comm_nest_voter){.thread = vote->thread};
		view->n++;
	}
	return &view->voter[i];
}

void comm_nest_look(const struct comm_nest *nest, uint32_t object, uint64_t datum, uint32_t without,
		    struct comm_nest_view *ret)
{
	memset(ret, 0, offsetof(struct comm_nest_view, voter));
	for (uint32_t level = COMM_NEST_LEVELS; level-- > 0;) {
		uint32_t at = nest->bucket[nest_bucket(nest, object, nest_index(nest, datum, level),
						       level)];
		const struct nest_region *r = &nest->region[at];

		if (!at)
			return;
		ret->reads[level] = (float)r->n_reads;
		ret->writes[level] = (float)r->n_writes;
		ret->first_ns[level] = r->first_ns;
		for (uint32_t i = r->votes; i; i = nest->vote[i].next) {
			const struct nest_vote *v = &nest->vote[i];
			uint32_t n = v->n - (without && v->last == without);
			struct comm_nest_voter *voter = n ? view_voter(ret, v) : NULL;

			if (!voter)
				continue;
			voter->votes[level] = (float)n;
			voter->site = v->site;
			voter->level = level;
			ret->votes[level] += (float)n;
		}
	}
}

static bool nest_keeps(const struct comm_nest *nest, const struct nest_region *r)
{
	return r->level == COMM_NEST_OBJECT || r->last_read > nest->tidied ||
	       r->last_write > nest->tidied;
}

uint64_t comm_nest_tidy(struct comm_nest *nest)
{
	uint32_t n = 1, n_votes = 1;
	uint64_t forgotten = nest->lost;
	struct nest_vote *vote;

	nest->lost = 0;
	if (nest->n_regions < nest->max_regions / 4 * 3 && nest->n_votes < nest->max_votes / 4 * 3)
		return forgotten;
	vote = calloc(nest->max_votes, sizeof(*vote));
	if (!vote)
		return forgotten;
	memset(nest->bucket, 0, nest->n_buckets * sizeof(*nest->bucket));
	for (uint32_t i = 1; i < nest->n_regions; i++) {
		struct nest_region r = nest->region[i];
		uint32_t list = 0;

		if (!nest_keeps(nest, &r))
			continue;
		for (uint32_t at = r.votes; at; at = nest->vote[at].next) {
			vote[n_votes] = nest->vote[at];
			vote[n_votes].next = list;
			list = n_votes++;
		}
		r.votes = list;
		nest->region[n] = r;
		nest->bucket[nest_bucket(nest, r.object, r.index, r.level)] = n;
		n++;
	}
	forgotten += nest->n_regions - n;
	free(nest->vote);
	nest->vote = vote;
	nest->n_regions = n;
	nest->n_votes = n_votes;
	/* Bursts up to the middle of those seen since count as old next time. */
	nest->tidied += (nest->latest - nest->tidied) / 2;
	return forgotten;
}
