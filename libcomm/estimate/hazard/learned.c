// SPDX-License-Identifier: GPL-2.0-or-later
#include "learned.h"

#include "model.h"

#include <errno.h>
#include <math.h>

enum { LEARNED_BURSTS = 512 }; /* looked at per window */

int comm_learned_init(struct comm_learned *learned, const struct comm_est_config *config,
		      struct comm_write_profile *profile)
{
	learned->profile = profile;
	learned->areas = comm_write_profile_areas(profile);
	return comm_code_pairs_create(config->function_of, config->sites, &learned->code_pairs) ||
			       comm_own_reads_create(&learned->own)
		       ? -ENOMEM
		       : 0;
}

void comm_learned_deinit(struct comm_learned *learned)
{
	comm_own_reads_destroy(learned->own);
	comm_code_pairs_destroy(learned->code_pairs);
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

		n_sites = comm_candidate_sites(learned->areas, c, word, &seen, site, part);
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
static double evidence_of(const struct comm_around *around)
{
	uint32_t level = COMM_CANDIDATE_COARSE;

	while (level < COMM_AREA_OBJECT && around->n[level] <= 0)
		level++;
	if (around->n[level] <= 0)
		return 0;
	return around->n[level] /
	       (around->n[level] + comm_parameter(COMM_P_half) * around->n_reads[level]);
}

/*
 * In how many bursts the data at a read were seen to be written, one at least.  What no burst was seen to write is like
 * what one was (Good, The population frequencies of species, 1953), not like what is written all the time, which
 * is mostly a thread's own.
 */
static double times_written(const struct comm_learned *learned, const struct comm_window_read *r)
{
	const struct comm_area *line = comm_area_at(learned->areas, r->area);

	return r->area && line->level == COMM_AREA_LINE ? fmax(line->n, 1) : 1;
}

/*
 * Learns from a read of a datum that a thread was seen to write whether that was the reader; weight is
 * the read's share of its burst.
 */
static void take(struct comm_learned *learned, const struct comm_window_burst *b,
		 const struct comm_window_read *r, double weight)
{
	uint32_t word = r->datum >> comm_area_shift(learned->areas, 0) & 7, level;
	double seen = 0, seen_own = 0, coarse = 0, coarse_own = 0, evidence;
	bool covered = false;
	struct comm_around around;
	uint32_t n =
		comm_candidates_find(learned->profile, r, b->thread, &around, learned->candidate);

	for (uint32_t i = 0; i < n; i++) {
		struct comm_candidate *c = &learned->candidate[i];
		const struct comm_actor *a =
			c->actor[1] ? comm_actor_at(learned->areas, c->actor[1]) : NULL;
		double wrote = a && a->word[word] > 0 ? a->word[word] : 0;

		a = comm_candidate_profile(learned->profile, &around, word, COMM_CANDIDATE_COARSE,
					   c, &level);
		covered |= a && c->chance >= 1;
		seen += wrote;
		coarse += a ? c->tail * c->chance : 0;
		if (c->thread != b->thread)
			continue;
		seen_own = wrote;
		coarse_own = a ? c->tail * c->chance : 0;
	}
	meet(learned, r, word, n);
	evidence = weight * evidence_of(&around);
	comm_write_profile_read(learned->profile, r->object, seen > 0 || covered ? evidence : 0,
				evidence * comm_area_found(learned->areas, r->area));
	if (seen > 0 && coarse > 0)
		comm_own_reads_learn(learned->own, r->object, seen_own / seen, coarse_own / coarse,
				     weight / times_written(learned, r));
}

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
	comm_own_reads_halve(learned->own);
}
