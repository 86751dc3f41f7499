// SPDX-License-Identifier: GPL-2.0-or-later
#include "watched.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WATCHED_SLOTS = 8192, /* the latest of a slot's entries stays */
	WATCHED_HALVE = 256,
	WATCHED_SHIFT = 15, /* places: 32 KiB */
};

/* Of the estimator against the answers, logarithms: at first, and at most. */
static const double watched_odds = 5, watched_odds_most = 8;
/* Answers that those of other readers, or of other places, are worth. */
static const double watched_pooled = 4;
/* The chance of what neither of the two would have foretold. */
static const double watched_new = 0.02;

/* What was said of an object, of a place in it, or of what one thread reads there. */
enum level { OBJECT, PLACE, READER, LEVELS };

struct writer {
	uint32_t thread, site;
	float n;
};

struct entry {
	uint64_t key;
	float n, n_quiet;
	/* Where the estimator saw nobody write the datum, and where it did. */
	float odds[2];
	struct writer writer[COMM_WATCHED_WRITERS];
};

struct comm_watched {
	struct entry entry[WATCHED_SLOTS];
};

int comm_watched_create(struct comm_watched **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_watched_destroy(struct comm_watched *watched)
{
	free(watched);
}

static uint64_t mix(uint64_t key, uint64_t with)
{
	key = (key ^ with) * 0x9e3779b97f4a7c15ull;
	return key ^ (key >> 29);
}

static void keys(const struct comm_watched_read *r, uint64_t *ret)
{
	ret[OBJECT] = mix(1, r->object) | 1;
	ret[PLACE] = mix(ret[OBJECT], r->datum >> WATCHED_SHIFT) | 1;
	ret[READER] = mix(ret[PLACE], r->thread) | 1;
}

static uint32_t slot_of(uint64_t key)
{
	return key * 0xbf58476d1ce4e5b9ull >> 40 & (WATCHED_SLOTS - 1);
}

/* All levels of a read; what was never watched has no writes. */
static void find(const struct comm_watched *w, const struct comm_watched_read *r,
		 const struct entry **ret)
{
	static const struct entry none;
	uint64_t key[LEVELS];

	keys(r, key);
	for (int i = 0; i < LEVELS; i++) {
		ret[i] = &w->entry[slot_of(key[i])];
		if (ret[i]->key != key[i])
			ret[i] = &none;
	}
}

/* A thread's share of the writes; the rest is those whom nobody saw. */
static double share_of(const struct entry *const *e, uint32_t thread)
{
	double share = 0, prior = 1;

	for (int level = 0; level < LEVELS; level++) {
		double n = 0;

		for (int i = 0; i < COMM_WATCHED_WRITERS; i++)
			if (e[level]->writer[i].n > 0 && e[level]->writer[i].thread == thread)
				n = e[level]->writer[i].n;
		share = (n + prior * share) / (e[level]->n + prior);
		prior = watched_pooled;
	}
	return share;
}

/* A place speaks for itself, and begins with what the object says. */
static double odds_of(const struct entry *const *e, bool known)
{
	return fmin(watched_odds + e[OBJECT]->odds[known], watched_odds) + e[PLACE]->odds[known];
}

static void add_odds(float *odds, double by)
{
	*odds = (float)fmax(fmin(*odds + by, watched_odds_most), -watched_odds_most);
}

static void halve(struct entry *e)
{
	if (e->n + e->n_quiet < WATCHED_HALVE)
		return;
	e->n /= 2;
	e->n_quiet /= 2;
	for (int i = 0; i < COMM_WATCHED_WRITERS; i++)
		e->writer[i].n /= 2;
}

/* Who writes least gives way. */
static void add_write(struct entry *e, uint32_t thread, uint32_t site)
{
	int least = 0, i;

	e->n++;
	for (i = 0; i < COMM_WATCHED_WRITERS; i++) {
		if (e->writer[i].n > 0 && e->writer[i].thread == thread)
			break;
		if (e->writer[i].n < e->writer[least].n)
			least = i;
	}
	if (i == COMM_WATCHED_WRITERS) {
		i = least;
		e->writer[i].n = 0;
	}
	e->writer[i] = (struct writer){thread, site, e->writer[i].n + 1};
}

void comm_watched_add(struct comm_watched *watched, const struct comm_watched_read *read,
		      const struct comm_watched_write *write)
{
	const struct entry *e[LEVELS];
	uint64_t key[LEVELS];
	double by = 0;

	find(watched, read, e);
	if (write)
		by = log((write->foretold + watched_new) /
			 (share_of(e, write->thread) + watched_new));
	keys(read, key);
	for (int level = 0; level < LEVELS; level++) {
		struct entry *to = &watched->entry[slot_of(key[level])];

		if (to->key != key[level])
			*to = (struct entry){.key = key[level]};
		halve(to);
		if (write) {
			add_write(to, write->thread, write->site);
			add_odds(&to->odds[read->known], by);
		} else {
			to->n_quiet++;
		}
	}
}

uint32_t comm_watched_shares(const struct comm_watched *watched,
			     const struct comm_watched_read *read, struct comm_watched_writer *ret)
{
	const struct entry *e[LEVELS];
	double quiet = 0, weight;
	uint32_t n = 0;

	find(watched, read, e);
	if (e[OBJECT]->n <= 0)
		return 0;
	/* No write in time says little of who wrote last: the estimator is to. */
	for (int level = 0; level < LEVELS; level++)
		quiet = (e[level]->n_quiet + watched_pooled * quiet) /
			(e[level]->n + e[level]->n_quiet + watched_pooled);
	weight = (1 - quiet) / (1 + exp(odds_of(e, read->known)));
	for (int i = 0; i < COMM_WATCHED_WRITERS; i++) {
		const struct writer *w =
			e[PLACE]->n > 0 ? &e[PLACE]->writer[i] : &e[OBJECT]->writer[i];

		if (w->n > 0)
			ret[n++] = (struct comm_watched_writer){w->thread, w->site,
								weight * share_of(e, w->thread)};
	}
	return n;
}
