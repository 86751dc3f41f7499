// SPDX-License-Identifier: GPL-2.0-or-later
#include "candidate.h"

#include "model.h"

#include <math.h>
#include <string.h>

static struct comm_candidate *candidate_of(struct comm_candidate *candidate, uint32_t *n,
					   uint32_t thread)
{
	for (uint32_t i = 0; i < *n; i++)
		if (candidate[i].thread == thread)
			return &candidate[i];
	if (*n == COMM_CANDIDATES)
		return NULL;
	candidate[*n] = (struct comm_candidate){.thread = thread};
	return &candidate[(*n)++];
}

/* By how many bursts the datum was read; 0: not known. */
static double candidate_reads(const struct comm_areas *areas, const struct comm_window_read *r)
{
	const struct comm_area *g = comm_area_at(areas, r->area);

	if (!r->area || g->level != COMM_AREA_LINE)
		return 0;
	return g->read[r->datum >> comm_area_shift(areas, 0) & 7];
}

void comm_candidates_label(const struct comm_write_profile *profile,
			   struct comm_candidate *candidate, uint32_t n)
{
	struct comm_areas *areas = comm_write_profile_areas(profile);
	double mine[COMM_CANDIDATES];

	for (uint32_t i = 0; i < n; i++)
		candidate[i].label = 1.0 / n;
	for (uint32_t level = COMM_AREA_OBJECT; level >= COMM_AREA_LINE; level--) {
		double sum = 0;

		memset(mine, 0, n * sizeof(*mine));
		for (uint32_t i = 0; i < n; i++) {
			uint32_t at = candidate[i].actor[level];

			if (at)
				mine[i] += fmax(comm_actor_at(areas, at)->n, 0);
			sum += mine[i];
		}
		for (uint32_t i = 0; i < n; i++)
			candidate[i].label =
				(mine[i] + comm_parameter(COMM_P_half) * candidate[i].label) /
				(sum + comm_parameter(COMM_P_half));
	}
}

uint32_t comm_candidates_find(const struct comm_write_profile *profile,
			      const struct comm_window_read *read, uint32_t reader,
			      struct comm_around *ret, struct comm_candidate *ret_candidate)
{
	const struct comm_areas *areas = comm_write_profile_areas(profile);
	uint32_t area = read->area, n = 0;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t level = 0; level < COMM_AREA_LEVELS; level++)
		ret->pieces[level] = COMM_AREA_CHILDREN;
	while (area) {
		const struct comm_area *g = comm_area_at(areas, area);
		uint32_t level = g->level;

		ret->pieces[level] =
			level < COMM_AREA_OBJECT ? __builtin_popcount(g->touched) : g->n_children;
		if (ret->pieces[level] < 1)
			ret->pieces[level] = 1;
		for (uint32_t at = g->actors; at;) {
			const struct comm_actor *a = comm_actor_at(areas, at);
			struct comm_candidate *c;

			ret->n_reads[level] += a->n_read;
			if (a->thread == reader) {
				ret->n_read[level] = a->n_read;
				ret->weight_read[level] = a->weight_read;
			}
			if (a->n > 0.01f && a->weight > 0) {
				ret->n[level] += a->n;
				ret->weight[level] += a->weight;
				c = candidate_of(ret_candidate, &n, a->thread);
				if (c)
					c->actor[level] = at;
			}
			at = a->next;
		}
		area = g->parent;
	}
	ret->often = candidate_reads(areas, read) >= comm_parameter(COMM_P_enough) &&
		     !comm_without(COMM_TERM_often);
	return n;
}

const struct comm_actor *comm_candidate_profile(const struct comm_write_profile *profile,
						const struct comm_around *around, uint32_t word,
						uint32_t from, struct comm_candidate *candidate,
						uint32_t *ret_level)
{
	const struct comm_areas *areas = comm_write_profile_areas(profile);
	double g = 1;
	const struct comm_actor *a = NULL;
	uint32_t level;

	candidate->level = COMM_AREA_OBJECT;
	candidate->chance = 1;
	candidate->tail = 0;
	for (level = 1; level <= COMM_AREA_OBJECT; level++) {
		const struct comm_actor *child = a;
		double pieces = around->pieces[level];
		double below, mean, weight, share;

		a = candidate->actor[level] && level >= from
			    ? comm_actor_at(areas, candidate->actor[level])
			    : NULL;
		if (!a) {
			g /= pieces;
			continue;
		}
		if (level == 1) {
			weight = a->word[word] > 0 ? a->word[word] : 0;
			candidate->level = weight > 0 ? 0 : 1;
		} else {
			weight = child ? child->weight : 0;
			if (level < candidate->level)
				candidate->level = (uint8_t)level;
		}
		below = a->weight - a->weight_cover;
		if (below < weight)
			below = weight;
		mean = a->n_below > 0.01f ? below / a->n_below : a->weight;
		share = (weight + mean / pieces) / (below + mean) * below / a->weight;
		share += a->weight_cover / a->weight / pieces;
		/* Unseen: as likely to be written at all as it is less written than others. */
		if (weight <= 0 && a->weight_cover <= 0 && a->n_pieces > 0)
			candidate->chance *= mean / pieces / (mean / pieces + below / a->n_pieces);
		g *= share;
		if (a->n >= COMM_CANDIDATE_BURSTS || level == COMM_AREA_OBJECT)
			break;
	}
	*ret_level = level;
	candidate->profile = g;
	if (a)
		candidate->tail = g * a->weight;
	return a;
}

/* Adds an actor's sites, which wrote a datum with that weight, to n others; the heaviest stay. */
static uint32_t candidate_add_sites(const struct comm_actor *actor, uint32_t word, double weight,
				    uint32_t n, uint32_t *site, double *part)
{
	uint32_t more[COMM_ACTOR_SITES];
	double parts[COMM_ACTOR_SITES];
	uint32_t n_more = comm_actor_sites(actor, true, word, more, parts);

	for (uint32_t j = 0; j < n_more; j++) {
		uint32_t at = 0, least = 0;

		for (; at < n && site[at] != more[j]; at++)
			if (part[at] < part[least])
				least = at;
		if (at == n && n < COMM_ACTOR_SITES)
			part[n++] = 0;
		else if (at == n && part[least] < weight * parts[j])
			part[at = least] = 0;
		else if (at == n)
			continue;
		site[at] = more[j];
		part[at] += weight * parts[j];
	}
	return n;
}

uint32_t comm_candidate_sites(const struct comm_areas *areas,
			      const struct comm_candidate *candidate, uint32_t word, bool *ret_seen,
			      uint32_t *ret_site, double *ret_part)
{
	const struct comm_actor *finest = NULL;
	uint32_t n = 0;
	double sum = 0;

	for (uint32_t level = COMM_AREA_LINE; level < COMM_AREA_LEVELS; level++) {
		const struct comm_actor *a = candidate->actor[level]
						     ? comm_actor_at(areas, candidate->actor[level])
						     : NULL;
		double weight;

		if (!a)
			continue;
		finest = finest ? finest : a;
		if (level == COMM_AREA_LINE)
			weight = a->word[word];
		else if (level < COMM_AREA_OBJECT)
			weight = a->weight_cover /
				 exp2(comm_area_shift(areas, level) - comm_area_shift(areas, 0));
		else
			weight = 0;
		if (weight > 0)
			n = candidate_add_sites(a, level == COMM_AREA_LINE ? word : 0, weight, n,
						ret_site, ret_part);
	}
	*ret_seen = n;
	if (!n)
		return finest ? comm_actor_sites(finest, false, word, ret_site, ret_part) : 0;
	for (uint32_t i = 0; i < n; i++)
		sum += ret_part[i];
	for (uint32_t i = 0; i < n; i++)
		ret_part[i] /= sum;
	return n;
}

bool comm_candidates_wrote(const struct comm_candidate *candidate, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (candidate[i].level == 0)
			return true;
	return false;
}

double comm_candidates_drop_coarse(struct comm_candidate *candidate, uint32_t n)
{
	double dropped = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (candidate[i].level != COMM_LEVEL_OBJECT)
			continue;
		dropped += candidate[i].share;
		candidate[i].share = 0;
	}
	return dropped;
}
