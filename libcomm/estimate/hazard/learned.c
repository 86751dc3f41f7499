// SPDX-License-Identifier: GPL-2.0-or-later
#include "learned.h"

#include <errno.h>

enum { LEARNED_BURSTS = 512 }; /* looked at per window */

/* Bursts that read, in those that write.  1 would take an array of which half is constant for a written one. */
static const double learned_reads = 0.5;

int comm_learned_init(struct comm_learned *learned, const struct comm_est_config *config,
		      uint64_t memory_bytes, struct comm_write_profile *profile)
{
	learned->profile = profile;
	learned->regions = comm_write_profile_regions(profile);
	return comm_code_pairs_create(config->function_of, config->sites, &learned->code_pairs) ||
			       comm_affinities_create(memory_bytes / 2, &learned->near) ||
			       comm_affinities_create(memory_bytes / 2, &learned->far)
		       ? -ENOMEM
		       : 0;
}

void comm_learned_deinit(struct comm_learned *learned)
{
	comm_affinities_destroy(learned->near);
	comm_affinities_destroy(learned->far);
	comm_code_pairs_destroy(learned->code_pairs);
}

/* Learns how many threads write a datum that one of them writes. */
static void share(struct comm_learned *learned, const struct comm_window_read *r, uint32_t word,
		  uint32_t n, double weight)
{
	struct comm_sharing *sharing = comm_write_profile_sharing(learned->profile);
	double seen = 0, others = 0, due = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct comm_candidate *c = &learned->candidate[i];
		const struct comm_actor *a =
			c->actor[1] ? comm_actor_at(learned->regions, c->actor[1]) : NULL;

		if (a && a->word[word] > 0)
			seen++;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_candidate *c = &learned->candidate[i];
		const struct comm_actor *a =
			c->actor[1] ? comm_actor_at(learned->regions, c->actor[1]) : NULL;
		bool mine = a && a->word[word] > 0;

		/* Of a datum that another thread writes: does this one write it too? */
		if (seen - mine <= 0)
			continue;
		others += mine;
		due += comm_sharing_found(sharing, r->object, c->thread);
	}
	comm_sharing_learn(sharing, r->object, weight * others, weight * due);
}

/* Learns whose code was seen to write the very datum that is read. */
static void meet(struct comm_learned *learned, const struct comm_window_read *r, uint32_t word,
		 uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_candidate *c = &learned->candidate[i];
		uint32_t site[COMM_ACTOR_SITES], n_sites;
		double part[COMM_ACTOR_SITES];
		bool seen;

		n_sites = comm_candidate_sites(learned->regions, c, word, &seen, site, part);
		for (uint32_t j = 0; seen && j < n_sites; j++)
			comm_code_pairs_met(learned->code_pairs,
					    &(struct comm_code_pair){site[j], r->site, r->object},
					    part[j]);
	}
}

/*
 * What a read tells of how much of the object is written: many reads beside few writes tell no
 * more than a few would, for whether they met data seen to be written rests on where those few
 * bursts wrote.
 */
static double told_share(const struct comm_around *around)
{
	uint32_t level = COMM_CANDIDATE_COARSE;

	while (level < COMM_REGION_OBJECT && around->n[level] <= 0)
		level++;
	if (around->n[level] <= 0)
		return 0;
	return around->n[level] / (around->n[level] + learned_reads * around->n_reads[level]);
}

/*
 * Learns affinities from a read of a datum that a thread was seen to write; weight
 * is the read's share of its burst.
 */
static void take(struct comm_learned *learned, const struct comm_window_burst *b,
		 const struct comm_window_read *r, double weight)
{
	struct comm_affinity_reader reader = {b->thread, r->object, r->site};
	uint32_t word = r->datum >> comm_region_shift(learned->regions, 0) & 7;
	struct comm_affinity_writer writer[COMM_CANDIDATES];
	double seen = 0, coarse = 0, far = 0, told;
	uint32_t level;
	bool covered = false;
	struct comm_around around;
	uint32_t n =
		comm_candidates_find(learned->profile, r, b->thread, &around, learned->candidate);

	for (uint32_t i = 0; i < n; i++) {
		struct comm_candidate *c = &learned->candidate[i];
		const struct comm_actor *a =
			c->actor[1] ? comm_actor_at(learned->regions, c->actor[1]) : NULL;

		if (a && a->word[word] > 0)
			seen += a->word[word];
		a = comm_candidate_profile(learned->profile, &around, word, COMM_CANDIDATE_COARSE,
					   c, &level);
		if (!a)
			c->tail = 0;
		covered |= a && c->chance >= 1;
		c->tail *= c->chance;
		coarse += c->tail;
	}
	if (seen > 0)
		share(learned, r, word, n, weight);
	meet(learned, r, word, n);
	told = weight * told_share(&around);
	comm_write_profile_read(learned->profile, r->object, seen > 0 || covered ? told : 0,
				told * comm_region_found(learned->regions, r->region));
	if (seen <= 0 || coarse <= 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_candidate *c = &learned->candidate[i];
		const struct comm_actor *a =
			c->actor[1] ? comm_actor_at(learned->regions, c->actor[1]) : NULL;
		double mine = a && a->word[word] > 0 ? a->word[word] : 0;

		writer[i] = (struct comm_affinity_writer){c->thread, mine / seen, c->tail / coarse};
	}
	comm_affinity_learn(learned->near, &reader, writer, n, weight);
	for (uint32_t i = 0; i < n; i++) {
		struct comm_candidate *c = &learned->candidate[i];

		comm_candidate_profile(learned->profile, &around, word, COMM_REGION_OBJECT, c,
				       &level);
		far += c->tail;
	}
	for (uint32_t i = 0; i < n && far > 0; i++)
		writer[i].coarse = learned->candidate[i].tail / far;
	if (far > 0)
		comm_affinity_learn(learned->far, &reader, writer, n, weight);
}

/* Second pass over the window: learns affinities from reads whose writer is known. */
void comm_learned_take(struct comm_learned *learned, struct comm_window *window, uint32_t n)
{
	uint32_t step = n / LEARNED_BURSTS + 1;

	for (uint32_t i = 0; i < n; i += step) {
		const struct comm_window_burst *b = comm_window_at(window, i);
		const struct comm_window_read *r = comm_window_reads(window, b);

		if (!b->n_reads)
			continue;
		comm_write_profile_take_out(learned->profile, window, b, -1);
		for (uint32_t j = 0; j < b->n_reads; j++)
			if (!r[j].self)
				take(learned, b, &r[j], 1.0 / b->n_reads);
		comm_write_profile_take_out(learned->profile, window, b, 1);
	}
}

void comm_learned_halve(struct comm_learned *learned)
{
	comm_affinities_halve(learned->near);
	comm_affinities_halve(learned->far);
}
