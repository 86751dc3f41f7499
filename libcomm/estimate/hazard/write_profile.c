// SPDX-License-Identifier: GPL-2.0-or-later
#include "write_profile.h"
#include "hash.h"
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WRITE_PROFILE_OBJECTS = 4096, /* objects share slots beyond that */
};

static const float write_profile_reads = 4096; /* forget by halves from there on */

/*
 * Reads of an object's data that were seen to be written, and as many as there would be if
 * all data read were written.
 */
struct written {
	float seen, expected;
};

struct comm_write_profile {
	struct comm_areas *areas;
	struct written *written; /* by object */
	uint32_t pass;
	uint64_t thinned;
};

int comm_write_profile_create(uint64_t memory_bytes, uint32_t granularity_bytes,
			      struct comm_write_profile **ret)
{
	struct comm_write_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->written = calloc(WRITE_PROFILE_OBJECTS, sizeof(*p->written));
	if (!p->written || comm_areas_create(memory_bytes, granularity_bytes, &p->areas)) {
		comm_write_profile_destroy(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

void comm_write_profile_destroy(struct comm_write_profile *profile)
{
	if (!profile)
		return;
	comm_areas_destroy(profile->areas);
	free(profile->written);
	free(profile);
}

struct comm_areas *comm_write_profile_areas(const struct comm_write_profile *profile)
{
	return profile->areas;
}

uint64_t comm_write_profile_thinned(const struct comm_write_profile *profile)
{
	return profile->thinned;
}

static struct written *written_of(const struct comm_write_profile *p, uint32_t object)
{
	return &p->written[comm_hash_word(object) >> 52 & (WRITE_PROFILE_OBJECTS - 1)];
}

static double area_words(const struct comm_write_profile *p, uint32_t level)
{
	return exp2((double)comm_area_shift(p->areas, level) -
		    (double)comm_area_shift(p->areas, 0));
}

/* Which parts of an area a write is of: data of a line, or the whole of a larger one. */
static uint8_t words_of(const struct comm_window_write *w, const struct comm_area *area)
{
	if (area->level != w->level)
		return 0;
	return w->level == COMM_AREA_LINE ? w->mask : COMM_ACTOR_WHOLE;
}

/* Adds (sign 1) or takes out (-1) one write of a burst at all levels; new: it was not added before. */
static void write_profile_note(struct comm_write_profile *p, const struct comm_window_write *w,
			       int sign, bool new)
{
	struct comm_actor *a = comm_actor_at(p->areas, w->actor);
	double words = w->level == 1 ? __builtin_popcount(w->mask) : area_words(p, w->level);
	float weight = (float)(words * w->weight) * sign;
	bool child_fresh = false, child_is_new = false;
	uint32_t level = w->level, at = w->actor;

	if (comm_area_at(p->areas, a->area)->level > w->level) {
		level = comm_area_at(p->areas, a->area)->level;
		a->n_below += sign;
	} else if (level == 1) {
		for (uint32_t i = 0; i < COMM_AREA_CHILDREN; i++) {
			if (!(w->mask >> i & 1))
				continue;
			if (new)
				a->n_pieces += a->word[i] <= 0;
			a->word[i] += w->weight * sign;
			a->n_below += sign;
		}
		if (new)
			comm_area_wrote(p->areas, a->area, w->mask);
	} else {
		a->weight_cover += weight;
	}
	for (;; level++) {
		struct comm_area *area = comm_area_at(p->areas, a->area);
		bool fresh = a->pass != p->pass;
		bool is_new = a->n <= 0;

		/* What one burst does at once is one observation. */
		if (child_fresh) {
			if (new)
				a->n_pieces += child_is_new;
			a->n_below += sign;
		}
		a->weight += weight;
		if (area->level > COMM_AREA_LINE && w->level == COMM_AREA_LINE)
			area->n_written += (float)(words * sign);
		if (fresh) {
			a->n += sign;
			area->n += (float)sign;
		}
		a->pass = p->pass;
		if (new)
			comm_actor_add_site(a, w->site, (float)fabs(weight), words_of(w, area));
		at = comm_actor_above(p->areas, at, true);
		if (!at)
			break;
		child_fresh = fresh;
		child_is_new = is_new;
		a = comm_actor_at(p->areas, at);
	}
}

/* Makes the areas and actors of a write; false: no room. */
static bool write_profile_make(struct comm_write_profile *p, uint32_t object, uint64_t datum,
			       uint32_t level, uint32_t thread, uint32_t *ret_area,
			       uint32_t *ret_actor)
{
	uint32_t area = comm_area_find(p->areas, object, datum, level, true);
	uint32_t actor;

	if (!area)
		return false;
	*ret_area = area;
	*ret_actor = actor = comm_actor_find(p->areas, area, thread, true);
	while (actor && comm_area_at(p->areas, comm_actor_at(p->areas, actor)->area)->parent)
		actor = comm_actor_above(p->areas, actor, true);
	return actor;
}

/*
 * The level at which a write is noted.  When room gets scarce a line is taken
 * up only in an area that its thread was seen to write before: sparse access
 * to much memory then stays coarse.
 */
static uint32_t write_profile_level(struct comm_write_profile *p, const struct comm_window_write *w,
				    uint32_t thread)
{
	uint32_t level, area, actor;

	if (w->level > COMM_AREA_LINE || !comm_areas_filling(p->areas))
		return w->level;
	for (level = COMM_AREA_LINE + 1; level <= COMM_AREA_OBJECT; level++) {
		area = comm_area_find(p->areas, w->object, w->datum, level, false);
		actor = area ? comm_actor_find(p->areas, area, thread, false) : 0;
		if (actor && comm_actor_at(p->areas, actor)->n >= 2)
			return level - 1;
		if (actor)
			return level;
	}
	return COMM_AREA_OBJECT;
}

/* First pass over the window: where each thread wrote, at any time in it. */
void comm_write_profile_learn(struct comm_write_profile *profile, struct comm_window *window,
			      const struct comm_weights *weights, uint32_t n)
{
	struct comm_write_profile *p = profile;

	for (uint32_t i = 0; i < n; i++) {
		const struct comm_window_burst *b = comm_window_at(window, i);
		struct comm_window_write *w = comm_window_writes(window, b);
		struct comm_window_read *r = comm_window_reads(window, b);
		uint32_t area, actor, word;

		p->pass++;
		for (uint32_t j = 0; j < b->n_writes; j++, w++) {
			uint32_t level = write_profile_level(p, w, b->thread);

			w->weight = (float)(w->count *
					    comm_weight_of(weights, &b->weighing, w->weight_slot));
			while (level <= COMM_AREA_OBJECT &&
			       !write_profile_make(p, w->object, w->datum, level, b->thread, &area,
						   &w->actor))
				level++;
			if (level > COMM_AREA_OBJECT) {
				w->actor = 0;
				p->thinned++;
				continue;
			}
			write_profile_note(p, w, 1, true);
		}
		p->pass++;
		for (uint32_t j = 0; j < b->n_reads; j++, r++) {
			double weight = comm_weight_of(weights, &b->weighing, r->weight_slot);

			r->bytes *= (float)weight;
			r->weight = (float)(r->count * weight);
			r->area = COMM_AREA_NONE;
			if (r->self)
				continue;
			/* Readers are told apart from level 2 on: lines are many. */
			if (!write_profile_make(p, r->object, r->datum, COMM_AREA_LINE + 1,
						b->thread, &r->area, &actor)) {
				p->thinned++;
				continue;
			}
			area = comm_area_find(p->areas, r->object, r->datum, COMM_AREA_LINE,
					      !comm_areas_filling(p->areas));
			if (!area)
				continue;
			r->area = area;
			word = r->datum >> comm_area_shift(p->areas, 0) & 7;
			comm_area_at(p->areas, area)->touched |= 1u << word;
			if (comm_area_at(p->areas, area)->read[word] < UINT8_MAX)
				comm_area_at(p->areas, area)->read[word]++;
			for (; actor; actor = comm_actor_above(p->areas, actor, true)) {
				struct comm_actor *a = comm_actor_at(p->areas, actor);

				a->weight_read += r->weight;
				if (a->pass != p->pass)
					a->n_read++;
				a->pass = p->pass;
			}
		}
	}
}

/* Has the actors of a burst's writes fetched, which lie all over a table that is larger than a cache. */
static void expect_writes(const struct comm_write_profile *p, const struct comm_window_write *w,
			  uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(comm_actor_at(p->areas, w[i].actor));
}

void comm_write_profile_take_out(struct comm_write_profile *profile, struct comm_window *window,
				 const struct comm_window_burst *b, int sign)
{
	struct comm_write_profile *p = profile;
	struct comm_window_write *w = comm_window_writes(window, b);

	if (comm_without(COMM_TERM_own))
		return;
	p->pass++;
	expect_writes(p, w, b->n_writes);
	for (uint32_t j = 0; j < b->n_writes; j++, w++)
		if (w->actor)
			write_profile_note(p, w, sign, false);
}

void comm_write_profile_activity(struct comm_write_profile *profile, struct comm_window *window,
				 const struct comm_window_burst *b, double now_ns, double start_ns)
{
	struct comm_write_profile *p = profile;
	struct comm_window_write *w = comm_window_writes(window, b);
	double recent = comm_parameter(COMM_P_likely);

	p->pass++;
	for (uint32_t j = 0; j < b->n_writes; j++, w++) {
		double words =
			w->level == 1 ? __builtin_popcount(w->mask) : area_words(p, w->level);

		for (uint32_t at = w->actor; at; at = comm_actor_above(p->areas, at, true)) {
			struct comm_actor *a = comm_actor_at(p->areas, at);

			if (a->pass != p->pass) {
				double gap = now_ns - (a->last_ns >= 0 ? a->last_ns : start_ns);

				a->recent_n = (float)(a->recent_n * recent + 1);
				a->recent_weight *= (float)recent;
				a->recent_ns = (float)(a->recent_ns * recent + (gap > 1 ? gap : 1));
				/* Until there are two bursts the time before the first stands for a gap. */
				if (a->longest_ns <= 0)
					a->longest_ns = (float)(a->last_ns < 0 ? -gap : gap);
				else
					a->longest_ns = fmaxf(a->longest_ns, (float)gap);
				a->last_ns = now_ns > 0 ? now_ns : 0;
				a->pass = p->pass;
			}
			a->recent_weight += (float)(words * w->weight);
		}
	}
}

void comm_write_profile_read(struct comm_write_profile *profile, uint32_t object, double seen,
			     double expected)
{
	struct written *k = written_of(profile, object);

	k->seen += (float)seen;
	k->expected += (float)expected;
	if (k->expected > write_profile_reads) {
		k->seen /= 2;
		k->expected /= 2;
	}
}

double comm_write_profile_written(const struct comm_write_profile *profile, uint32_t object)
{
	const struct written *k = written_of(profile, object);
	double prior = comm_parameter(COMM_P_written_prior);
	double written = (k->seen + prior * comm_parameter(COMM_P_likely)) / (k->expected + prior);

	return fmin(written, 1 - comm_parameter(COMM_P_rare));
}
