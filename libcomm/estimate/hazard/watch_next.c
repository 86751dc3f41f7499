// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_next.h"
#include "hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WATCH_NEXT_SLOTS = 8192,
	WATCH_NEXT_SET = 4, /* slots, of which the place with the fewest answers makes room */
	WATCH_NEXT_HALVE = 256,
	WATCH_NEXT_SHIFT = 15, /* places: 32 KiB */
};

/* Log odds of the estimator against the answers: at first, and at most. */
static const double watch_next_odds = 7, watch_next_odds_most = 10;
/* Answers that the answers of other readers, or of other places, count as. */
static const double watch_next_pooled = 8;
/* Least chance of an answer that neither the estimator nor earlier answers foretold. */
static const double watch_next_new = 0.02;
/* Bonus of the estimator per answer: it tells reads apart, which averages do not. */
static const double watch_next_apart = 0.05;
/* Forecast shares below this are not kept: they would push out larger ones. */
static const double watch_next_least = 0.005;

/* The answers about an object, about a place in it, or about what one thread reads there. */
enum level { OBJECT, PLACE, READER, LEVELS };

enum { WATCH_NEXT_OTHERS = COMM_WATCH_NEXT_WRITERS - 1 };

struct watch_next_other {
	uint32_t thread, site;
	float n;
};

/* Who wrote what threads read: how often the reader itself, whoever that is, and of all else who. */
struct watch_next_writers {
	float self;
	uint32_t self_site; /* the latest */
	struct watch_next_other other[WATCH_NEXT_OTHERS];
};

enum whose { ANSWERS, FORECASTS, WHOSE }; /* forecasts: sums of the estimator's shares */

struct watch_next_place {
	uint64_t key;
	float n, n_quiet;
	/* Where the estimator saw nobody write the datum, and where it did. */
	float odds[2];
	struct watch_next_writers by[WHOSE];
};

struct comm_watch_next {
	struct watch_next_place place[WATCH_NEXT_SLOTS];
};

int comm_watch_next_create(struct comm_watch_next **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_watch_next_destroy(struct comm_watch_next *watch_next)
{
	free(watch_next);
}

static void keys(const struct comm_watch_next_read *r, uint64_t *ret)
{
	ret[OBJECT] = comm_hash_mix(1, r->object) | 1;
	ret[PLACE] = comm_hash_mix(ret[OBJECT], r->datum >> WATCH_NEXT_SHIFT) | 1;
	ret[READER] = comm_hash_mix(ret[PLACE], r->thread) | 1;
}

/* The place of that key, or the one that makes room for it. */
static uint32_t slot_of(const struct comm_watch_next *w, uint64_t key)
{
	uint32_t set = key >> 40 & (WATCH_NEXT_SLOTS / WATCH_NEXT_SET - 1), least = 0;
	const struct watch_next_place *place = &w->place[set * WATCH_NEXT_SET];

	for (uint32_t i = 0; i < WATCH_NEXT_SET; i++) {
		if (place[i].key == key)
			return set * WATCH_NEXT_SET + i;
		if (place[i].n + place[i].n_quiet < place[least].n + place[least].n_quiet)
			least = i;
	}
	return set * WATCH_NEXT_SET + least;
}

/* All levels of a read; what was never watched has no writes. */
static void find(const struct comm_watch_next *w, const struct comm_watch_next_read *r,
		 const struct watch_next_place **ret)
{
	static const struct watch_next_place none;
	uint64_t key[LEVELS];

	keys(r, key);
	for (int i = 0; i < LEVELS; i++) {
		ret[i] = &w->place[slot_of(w, key[i])];
		if (ret[i]->key != key[i])
			ret[i] = &none;
	}
}

static double count_of(const struct watch_next_writers *writers, uint32_t thread)
{
	for (int i = 0; i < WATCH_NEXT_OTHERS; i++)
		if (writers->other[i].n > 0 && writers->other[i].thread == thread)
			return writers->other[i].n;
	return 0;
}

/* Where the forecast of a read stands for those before it: a new place's is not taken from others. */
static enum level widest(enum whose whose)
{
	return whose == FORECASTS ? PLACE : OBJECT;
}

/* How often readers are the writers themselves, the rest being writers not seen; share: the prior. */
static double self_of(const struct watch_next_place *const *e, enum whose whose, double share)
{
	double prior = 1;

	for (int level = (int)widest(whose); level < LEVELS; level++) {
		share = (e[level]->by[whose].self + prior * share) / (e[level]->n + prior);
		prior = watch_next_pooled;
	}
	return share;
}

/* A thread's share of what the reader has not written itself. */
static double other_of(const struct watch_next_place *const *e, enum whose whose, uint32_t reader,
		       uint32_t thread, double share)
{
	double prior = 1;

	for (int level = (int)widest(whose); level < LEVELS; level++) {
		const struct watch_next_writers *writers = &e[level]->by[whose];
		double n = fmax(e[level]->n - writers->self - count_of(writers, reader), 0);

		share = (count_of(writers, thread) + prior * share) / (n + prior);
		prior = watch_next_pooled;
	}
	return share;
}

/* What the estimator foretold of one read: of its reader, and of the thread that wrote then. */
struct watch_next_now {
	double self, writer;
};

/* A thread's share of what the reader reads; now: the shares of the forecast of this read. */
static double share_of(const struct watch_next_place *const *e, enum whose whose, uint32_t reader,
		       uint32_t thread, const struct watch_next_now *now)
{
	double self = self_of(e, whose, now->self);
	double other = now->self < 1 ? now->writer / (1 - now->self) : 0;

	return thread == reader ? self
				: (1 - self) * other_of(e, whose, reader, thread, fmin(other, 1));
}

/* A place has odds of its own, which start from those of its object. */
static double odds_of(const struct watch_next_place *const *e, bool known)
{
	return fmin(watch_next_odds + e[OBJECT]->odds[known], watch_next_odds) +
	       e[PLACE]->odds[known];
}

static void add_odds(float *odds, double by)
{
	*odds = (float)fmax(fmin(*odds + by, watch_next_odds_most), -watch_next_odds_most);
}

static void halve(struct watch_next_place *e)
{
	if (e->n + e->n_quiet < WATCH_NEXT_HALVE)
		return;
	e->n /= 2;
	e->n_quiet /= 2;
	for (int whose = 0; whose < WHOSE; whose++) {
		e->by[whose].self /= 2;
		for (int i = 0; i < WATCH_NEXT_OTHERS; i++)
			e->by[whose].other[i].n /= 2;
	}
}

/* The writer with the fewest writes is replaced. */
static void add_share(struct watch_next_writers *writers, uint32_t reader,
		      const struct comm_watch_next_writer *by)
{
	struct watch_next_other *other = writers->other;
	int least = 0, i;

	if (by->thread == reader) {
		writers->self += (float)by->share;
		writers->self_site = by->site;
		return;
	}
	for (i = 0; i < WATCH_NEXT_OTHERS; i++) {
		if (other[i].n > 0 && other[i].thread == by->thread)
			break;
		if (other[i].n < other[least].n)
			least = i;
	}
	if (i == WATCH_NEXT_OTHERS) {
		i = least;
		other[i].n = 0;
	}
	other[i] = (struct watch_next_other){by->thread, by->site, (float)(other[i].n + by->share)};
}

void comm_watch_next_add(struct comm_watch_next *watch_next,
			 const struct comm_watch_next_read *read,
			 const struct comm_watch_next_write *write,
			 const struct comm_watch_next_writer *foretold, uint32_t n_foretold)
{
	static const struct watch_next_now nothing;
	const struct watch_next_place *e[LEVELS];
	struct watch_next_now now = {0};
	uint64_t key[LEVELS];
	double by = 0;
	uint32_t i;

	find(watch_next, read, e);
	for (i = 0; write && i < n_foretold; i++) {
		if (foretold[i].thread == write->thread)
			now.writer = foretold[i].share;
		if (foretold[i].thread == read->thread)
			now.self = foretold[i].share;
	}
	if (write)
		by = log((share_of(e, FORECASTS, read->thread, write->thread, &now) +
			  watch_next_new) /
			 (share_of(e, ANSWERS, read->thread, write->thread, &nothing) +
			  watch_next_new)) +
		     watch_next_apart;
	keys(read, key);
	for (int level = 0; level < LEVELS; level++) {
		struct watch_next_place *to = &watch_next->place[slot_of(watch_next, key[level])];

		if (to->key != key[level])
			*to = (struct watch_next_place){.key = key[level]};
		halve(to);
		if (!write) {
			to->n_quiet++;
			continue;
		}
		to->n++;
		add_share(&to->by[ANSWERS], read->thread,
			  &(struct comm_watch_next_writer){write->thread, write->site, 1});
		for (i = 0; i < n_foretold; i++)
			if (foretold[i].share >= watch_next_least)
				add_share(&to->by[FORECASTS], read->thread, &foretold[i]);
		add_odds(&to->odds[read->known], by);
	}
}

uint32_t comm_watch_next_shares(const struct comm_watch_next *watch_next,
				const struct comm_watch_next_read *read,
				struct comm_watch_next_writer *ret)
{
	static const struct watch_next_now nothing;
	const struct watch_next_place *e[LEVELS];
	const struct watch_next_writers *writers;
	double quiet = 0, weight, self;
	uint32_t n = 0;

	find(watch_next, read, e);
	if (e[OBJECT]->n <= 0)
		return 0;
	/* A watch without a write says little of the last writer: that part stays the estimator's. */
	for (int level = 0; level < LEVELS; level++)
		quiet = (e[level]->n_quiet + watch_next_pooled * quiet) /
			(e[level]->n + e[level]->n_quiet + watch_next_pooled);
	weight = (1 - quiet) / (1 + exp(odds_of(e, read->known)));
	writers = &e[e[PLACE]->n > 0 ? PLACE : OBJECT]->by[ANSWERS];
	self = self_of(e, ANSWERS, 0);
	if (self > 0)
		ret[n++] = (struct comm_watch_next_writer){
			read->thread,
			writers->self > 0 ? writers->self_site : e[OBJECT]->by[ANSWERS].self_site,
			weight * self};
	for (int i = 0; i < WATCH_NEXT_OTHERS; i++) {
		const struct watch_next_other *other = &writers->other[i];

		if (other->n > 0 && other->thread != read->thread)
			ret[n++] = (struct comm_watch_next_writer){
				other->thread, other->site,
				weight * share_of(e, ANSWERS, read->thread, other->thread,
						  &nothing)};
	}
	return n;
}
