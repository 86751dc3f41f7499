// SPDX-License-Identifier: GPL-2.0-or-later
#include "write_profile.h"
#include "hash.h"
#include "terms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WRITE_PROFILE_KAPPAS = 4096, /* objects share one beyond that */
};

static const double write_profile_recent = 0.9; /* ten bursts */

static const double write_profile_written_mean = 0.9; /* where nothing is known of an object */
static const double write_profile_written_prior = 4;
static const double write_profile_written_most = 0.98;
static const double write_profile_beside_prior = 1;
static const float write_profile_reads = 4096; /* forget by halves from there on */

/* Concentrations of one object, as ratios of sums. */
struct kappa {
	float news[COMM_REGION_LEVELS], trials[COMM_REGION_LEVELS];
	float mixed[COMM_REGION_LEVELS], unmixed[COMM_REGION_LEVELS]; /* of writers */
	/* New regions: their writer's share beside them, around them, and how many. */
	float beside[COMM_REGION_LEVELS], around[COMM_REGION_LEVELS], fresh[COMM_REGION_LEVELS];
	/* Reads of data seen to be written, and as many as there would be if
	   all data read were written. */
	float seen, due;
};

struct comm_write_profile {
	struct comm_regions *regions;
	struct comm_sharing *sharing;
	struct kappa *kappa;
	uint32_t pass;
	uint64_t thinned;
};

int comm_write_profile_create(uint64_t memory_bytes, uint32_t granularity_bytes,
			      struct comm_write_profile **ret)
{
	struct comm_write_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->kappa = calloc(WRITE_PROFILE_KAPPAS, sizeof(*p->kappa));
	if (!p->kappa || comm_sharing_create(&p->sharing) ||
	    comm_regions_create(memory_bytes, granularity_bytes, &p->regions)) {
		comm_write_profile_destroy(p);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < WRITE_PROFILE_KAPPAS; i++)
		for (uint32_t l = 0; l < COMM_REGION_LEVELS; l++)
			p->kappa[i].news[l] = p->kappa[i].trials[l] = 1;
	*ret = p;
	return 0;
}

void comm_write_profile_destroy(struct comm_write_profile *profile)
{
	if (!profile)
		return;
	comm_regions_destroy(profile->regions);
	comm_sharing_destroy(profile->sharing);
	free(profile->kappa);
	free(profile);
}

struct comm_regions *comm_write_profile_regions(const struct comm_write_profile *profile)
{
	return profile->regions;
}

struct comm_sharing *comm_write_profile_sharing(const struct comm_write_profile *profile)
{
	return profile->sharing;
}

uint64_t comm_write_profile_thinned(const struct comm_write_profile *profile)
{
	return profile->thinned;
}

static struct kappa *kappa_of(const struct comm_write_profile *p, uint32_t object)
{
	return &p->kappa[comm_hash_word(object) >> 52 & (WRITE_PROFILE_KAPPAS - 1)];
}

static double kappa_value(const struct kappa *k, uint32_t level)
{
	double v = (double)k->news[level] / k->trials[level];

	if (comm_without(COMM_TERM_kappa))
		return 1;
	return v < 1000 ? v : 1000;
}

/* A piece of level was written by a thread that had n_below in the parent. */
static void kappa_learn(struct kappa *k, uint32_t level, double n_below, bool is_new)
{
	double v;

	if (n_below <= 0)
		return;
	v = kappa_value(k, level);
	k->trials[level] += (float)(1 / (n_below + v));
	k->news[level] += is_new;
	if (k->trials[level] > 1e5f || k->news[level] > 1e5f) {
		k->trials[level] /= 2;
		k->news[level] /= 2;
	}
}

static double mixing_value(const struct kappa *k, uint32_t level)
{
	double v = (double)(k->mixed[level] + 0.5f) / (k->unmixed[level] + 1);

	if (comm_without(COMM_TERM_mixing))
		return 0.5;
	return v < 1000 ? v : 1000;
}

/* A thread with some share of the parent's bursts wrote a piece that n bursts wrote before. */
static void mixing_learn(struct kappa *k, uint32_t level, double n, double share, bool is_new)
{
	if (n <= 0)
		return;
	k->unmixed[level] += (float)((1 - share) / (n + mixing_value(k, level)));
	k->mixed[level] += is_new;
	if (k->unmixed[level] > 1e5f || k->mixed[level] > 1e5f) {
		k->unmixed[level] /= 2;
		k->mixed[level] /= 2;
	}
}

/* A thread writes a region that was not seen to be written: do its neighbours tell? */
static void beside_learn(struct comm_write_profile *p, struct kappa *k,
			 const struct comm_window_write *w, uint32_t level, uint32_t thread,
			 double share)
{
	double mine = 0, all = 0;

	for (int side = 0; side < 2; side++) {
		uint32_t at = comm_region_beside(p->regions, w->object, w->datum, level, side);
		uint32_t actor = at ? comm_actor_find(p->regions, at, thread, false) : 0;

		if (at)
			all += comm_region_at(p->regions, at)->n;
		if (actor)
			mine += comm_actor_at(p->regions, actor)->n;
	}
	if (all <= 0)
		return;
	k->beside[level] += (float)(mine / all);
	k->around[level] += (float)share;
	if (++k->fresh[level] > write_profile_reads) {
		k->beside[level] /= 2;
		k->around[level] /= 2;
		k->fresh[level] /= 2;
	}
}

void comm_write_profile_beside(const struct comm_write_profile *profile, uint32_t object,
			       double *ret)
{
	const struct kappa *k = kappa_of(profile, object);

	for (uint32_t level = 0; level < COMM_REGION_LEVELS; level++) {
		double more = k->beside[level] - k->around[level];

		ret[level] = more > 0 ? more / (k->fresh[level] - k->around[level] +
						write_profile_beside_prior)
				      : 0;
	}
}

static double region_words(const struct comm_write_profile *p, uint32_t level)
{
	return exp2((double)comm_region_shift(p->regions, level) -
		    (double)comm_region_shift(p->regions, 0));
}

/* Which parts of a region a write is of: data of a line, or the whole of a larger one. */
static uint8_t words_of(const struct comm_window_write *w, const struct comm_region *region)
{
	if (region->level != w->level)
		return 0;
	return w->level == COMM_REGION_LINE ? w->mask : COMM_ACTOR_WHOLE;
}

/* Adds (sign 1) or takes out (-1) one write of a burst at all levels. */
static void write_profile_note(struct comm_write_profile *p, const struct comm_window_write *w,
			       int sign, struct kappa *learn)
{
	struct comm_actor *a = comm_actor_at(p->regions, w->actor);
	double words = w->level == 1 ? __builtin_popcount(w->mask) : region_words(p, w->level);
	float weight = (float)(words * w->weight) * sign;
	bool child_fresh = false, child_is_new = false;
	double child_n = 0;
	uint32_t level = w->level, at = w->actor;

	if (comm_region_at(p->regions, a->region)->level > w->level) {
		level = comm_region_at(p->regions, a->region)->level;
		a->n_below += sign;
	} else if (level == 1) {
		double n_below = a->pass == p->pass ? 0 : a->n_below;

		for (uint32_t i = 0; i < COMM_REGION_CHILDREN; i++) {
			if (!(w->mask >> i & 1))
				continue;
			if (learn) {
				kappa_learn(learn, 0, n_below, a->word[i] <= 0);
				a->n_pieces += a->word[i] <= 0;
			}
			a->word[i] += w->weight * sign;
			a->n_below += sign;
		}
		if (learn) {
			comm_region_wrote(p->regions, a->region, w->mask);
			if (a->pass != p->pass)
				comm_sharing_wrote(p->sharing, w->object, a->thread, a->n <= 0);
		}
	} else {
		a->weight_cover += weight;
	}
	for (;; level++) {
		struct comm_region *region = comm_region_at(p->regions, a->region);
		bool fresh = a->pass != p->pass;
		bool is_new = a->n <= 0;

		if (child_fresh) {
			/* What one burst does at once is one observation. */
			if (learn) {
				kappa_learn(learn, level - 1, fresh ? a->n_below : 0, child_is_new);
				double share = region->n > 0 ? a->n / region->n : 1;

				mixing_learn(learn, level - 1, child_n, share, child_is_new);
				if (child_n <= 0 && region->n > 0)
					beside_learn(p, learn, w, level - 1, a->thread, share);
			}
			if (learn)
				a->n_pieces += child_is_new;
			a->n_below += sign;
		}
		a->weight += weight;
		if (region->level > COMM_REGION_LINE && w->level == COMM_REGION_LINE)
			region->n_written += (float)(words * sign);
		child_n = region->n;
		if (fresh) {
			a->n += sign;
			region->n += (float)sign;
		}
		a->pass = p->pass;
		if (learn)
			comm_actor_add_site(a, w->site, (float)fabs(weight), words_of(w, region));
		at = comm_actor_above(p->regions, at, true);
		if (!at)
			break;
		child_fresh = fresh;
		child_is_new = is_new;
		a = comm_actor_at(p->regions, at);
	}
}

/* Makes the regions and actors of a write; false: no room. */
static bool write_profile_place(struct comm_write_profile *p, uint32_t object, uint64_t datum,
				uint32_t level, uint32_t thread, uint32_t *ret_region,
				uint32_t *ret_actor)
{
	uint32_t region = comm_region_find(p->regions, object, datum, level, true);
	uint32_t actor;

	if (!region)
		return false;
	*ret_region = region;
	*ret_actor = actor = comm_actor_find(p->regions, region, thread, true);
	while (actor &&
	       comm_region_at(p->regions, comm_actor_at(p->regions, actor)->region)->parent)
		actor = comm_actor_above(p->regions, actor, true);
	return actor;
}

/*
 * The level at which a write is noted.  When room gets scarce a line is taken
 * up only in a region that its thread was seen to write before: sparse access
 * to much memory then stays coarse.
 */
static uint32_t write_profile_level(struct comm_write_profile *p, const struct comm_window_write *w,
				    uint32_t thread)
{
	uint32_t level, region, actor;

	if (w->level > COMM_REGION_LINE || !comm_regions_filling(p->regions))
		return w->level;
	for (level = COMM_REGION_LINE + 1; level <= COMM_REGION_OBJECT; level++) {
		region = comm_region_find(p->regions, w->object, w->datum, level, false);
		actor = region ? comm_actor_find(p->regions, region, thread, false) : 0;
		if (actor && comm_actor_at(p->regions, actor)->n >= 2)
			return level - 1;
		if (actor)
			return level;
	}
	return COMM_REGION_OBJECT;
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
		uint32_t region, actor, word;

		p->pass++;
		for (uint32_t j = 0; j < b->n_writes; j++, w++) {
			uint32_t level = write_profile_level(p, w, b->thread);

			w->weight = (float)(w->count *
					    comm_weight_of(weights, &b->weighing, w->weight_slot));
			while (level <= COMM_REGION_OBJECT &&
			       !write_profile_place(p, w->object, w->datum, level, b->thread,
						    &region, &w->actor))
				level++;
			if (level > COMM_REGION_OBJECT) {
				w->actor = 0;
				p->thinned++;
				continue;
			}
			write_profile_note(p, w, 1, kappa_of(p, w->object));
		}
		p->pass++;
		for (uint32_t j = 0; j < b->n_reads; j++, r++) {
			double weight = comm_weight_of(weights, &b->weighing, r->weight_slot);

			r->bytes *= (float)weight;
			r->weight = (float)(r->count * weight);
			r->region = COMM_REGION_NONE;
			if (r->self)
				continue;
			/* Readers are told apart from level 2 on: lines are many. */
			if (!write_profile_place(p, r->object, r->datum, COMM_REGION_LINE + 1,
						 b->thread, &r->region, &actor)) {
				p->thinned++;
				continue;
			}
			region = comm_region_find(p->regions, r->object, r->datum, COMM_REGION_LINE,
						  !comm_regions_filling(p->regions));
			if (!region)
				continue;
			r->region = region;
			word = r->datum >> comm_region_shift(p->regions, 0) & 7;
			comm_region_at(p->regions, region)->touched |= 1u << word;
			if (comm_region_at(p->regions, region)->read[word] < UINT8_MAX)
				comm_region_at(p->regions, region)->read[word]++;
			for (; actor; actor = comm_actor_above(p->regions, actor, true)) {
				struct comm_actor *a = comm_actor_at(p->regions, actor);

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
		__builtin_prefetch(comm_actor_at(p->regions, w[i].actor));
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
			write_profile_note(p, w, sign, NULL);
}

/* The burst's writes become part of the recent activity of its thread. */
void comm_write_profile_activity(struct comm_write_profile *profile, struct comm_window *window,
				 const struct comm_window_burst *b, double now_ns, double start_ns)
{
	struct comm_write_profile *p = profile;
	struct comm_window_write *w = comm_window_writes(window, b);

	p->pass++;
	for (uint32_t j = 0; j < b->n_writes; j++, w++) {
		uint32_t actor = w->actor;
		double words =
			w->level == 1 ? __builtin_popcount(w->mask) : region_words(p, w->level);

		while (actor) {
			struct comm_actor *a = comm_actor_at(p->regions, actor);

			if (a->pass != p->pass) {
				double gap = now_ns - (a->last_ns >= 0 ? a->last_ns : start_ns);

				a->recent_n = (float)(a->recent_n * write_profile_recent + 1);
				a->recent_weight *= (float)write_profile_recent;
				a->recent_ns = (float)(a->recent_ns * write_profile_recent +
						       (gap > 1 ? gap : 1));
				a->last_ns = now_ns > 0 ? now_ns : 0;
				a->pass = p->pass;
			}
			a->recent_weight += (float)(words * w->weight);
			actor = comm_actor_above(p->regions, actor, true);
		}
	}
}

void comm_write_profile_mixing(const struct comm_write_profile *profile, uint32_t object,
			       double *ret)
{
	const struct kappa *k = kappa_of(profile, object);

	for (uint32_t level = 0; level < COMM_REGION_LEVELS; level++)
		ret[level] = mixing_value(k, level);
}

void comm_write_profile_kappa(const struct comm_write_profile *profile, uint32_t object,
			      double *ret)
{
	const struct kappa *k = kappa_of(profile, object);

	for (uint32_t level = 0; level < COMM_REGION_LEVELS; level++)
		ret[level] = kappa_value(k, level);
}

void comm_write_profile_read(struct comm_write_profile *profile, uint32_t object, double seen,
			     double due)
{
	struct kappa *k = kappa_of(profile, object);

	k->seen += (float)seen;
	k->due += (float)due;
	if (k->due > write_profile_reads) {
		k->seen /= 2;
		k->due /= 2;
	}
}

double comm_write_profile_written(const struct comm_write_profile *profile, uint32_t object)
{
	const struct kappa *k = kappa_of(profile, object);
	double written = (k->seen + write_profile_written_prior * write_profile_written_mean) /
			 (k->due + write_profile_written_prior);

	return written < write_profile_written_most ? written : write_profile_written_most;
}
