// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_next.h"
#include "hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WATCHED_SLOTS = 8192, /* the latest of a slot's entries stays */
	WATCHED_HALVE = 256,
	WATCHED_SHIFT = 15, /* places: 32 KiB */
};

/* Of the estimator against the answers, logarithms: at first, and at most. */
static const double watched_odds = 7, watched_odds_most = 10;
/* Answers that those of other readers, or of other places, are worth. */
static const double watched_pooled = 8;
/* The chance of what neither of the two would have foretold. */
static const double watched_new = 0.02;
/* Each answer is for the estimator by so much: it tells the reads apart. */
static const double watched_apart = 0.05;
/* Foretold shares below are not kept: they would push out others. */
static const double watched_least = 0.005;

/* What was said of an object, of a place in it, or of what one thread reads there. */
enum level { OBJECT, PLACE, READER, LEVELS };

struct writer {
	uint32_t thread, site;
	float n;
};

struct watched_writes {
	uint64_t key;
	float n, n_quiet;
	/* Where the estimator saw nobody write the datum, and where it did. */
	float odds[2];
	struct writer writer[COMM_WATCH_NEXT_WRITERS];
	struct writer foretold[COMM_WATCH_NEXT_WRITERS]; /* by the estimator: sums of shares */
};

struct comm_watch_next {
	struct watched_writes entry[WATCHED_SLOTS];
};

int comm_watch_next_create(struct comm_watch_next **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_watch_next_destroy(struct comm_watch_next *watched)
{
	free(watched);
}

static void keys(const struct comm_watch_next_read *r, uint64_t *ret)
{
	ret[OBJECT] = comm_hash_mix(1, r->object) | 1;
	ret[PLACE] = comm_hash_mix(ret[OBJECT], r->datum >> WATCHED_SHIFT) | 1;
	ret[READER] = comm_hash_mix(ret[PLACE], r->thread) | 1;
}

static uint32_t slot_of(uint64_t key)
{
	return key >> 40 & (WATCHED_SLOTS - 1);
}

/* All levels of a read; what was never watched has no writes. */
static void find(const struct comm_watch_next *w, const struct comm_watch_next_read *r,
		 const struct watched_writes **ret)
{
	static const struct watched_writes none;
	uint64_t key[LEVELS];

	keys(r, key);
	for (int i = 0; i < LEVELS; i++) {
		ret[i] = &w->entry[slot_of(key[i])];
		if (ret[i]->key != key[i])
			ret[i] = &none;
	}
}

static double count_of(const struct writer *writer, uint32_t thread)
{
	for (int i = 0; i < COMM_WATCH_NEXT_WRITERS; i++)
		if (writer[i].n > 0 && writer[i].thread == thread)
			return writer[i].n;
	return 0;
}

/*
 * A thread's share of the writes, the rest is those whom nobody saw; or what the
 * estimator says of such reads, which of a new place is not what it said of others.
 * share: to begin with.
 */
static double share_of(const struct watched_writes *const *e, uint32_t thread, bool foretold,
		       double share)
{
	double prior = 1;

	for (int level = foretold ? PLACE : OBJECT; level < LEVELS; level++) {
		const struct writer *writer = foretold ? e[level]->foretold : e[level]->writer;

		share = (count_of(writer, thread) + prior * share) / (e[level]->n + prior);
		prior = watched_pooled;
	}
	return share;
}

/* A place speaks for itself, and begins with what the object says. */
static double odds_of(const struct watched_writes *const *e, bool known)
{
	return fmin(watched_odds + e[OBJECT]->odds[known], watched_odds) + e[PLACE]->odds[known];
}

static void add_odds(float *odds, double by)
{
	*odds = (float)fmax(fmin(*odds + by, watched_odds_most), -watched_odds_most);
}

static void halve(struct watched_writes *e)
{
	if (e->n + e->n_quiet < WATCHED_HALVE)
		return;
	e->n /= 2;
	e->n_quiet /= 2;
	for (int i = 0; i < COMM_WATCH_NEXT_WRITERS; i++) {
		e->writer[i].n /= 2;
		e->foretold[i].n /= 2;
	}
}

/* Who writes least gives way. */
static void add_share(struct writer *writer, uint32_t thread, uint32_t site, double share)
{
	int least = 0, i;

	for (i = 0; i < COMM_WATCH_NEXT_WRITERS; i++) {
		if (writer[i].n > 0 && writer[i].thread == thread)
			break;
		if (writer[i].n < writer[least].n)
			least = i;
	}
	if (i == COMM_WATCH_NEXT_WRITERS) {
		i = least;
		writer[i].n = 0;
	}
	writer[i] = (struct writer){thread, site, (float)(writer[i].n + share)};
}

void comm_watch_next_add(struct comm_watch_next *watched, const struct comm_watch_next_read *read,
			 const struct comm_watch_next_write *write,
			 const struct comm_watch_next_writer *foretold, uint32_t n_foretold)
{
	const struct watched_writes *e[LEVELS];
	uint64_t key[LEVELS];
	double by = 0, now = 0;
	uint32_t i;

	find(watched, read, e);
	for (i = 0; write && i < n_foretold; i++)
		if (foretold[i].thread == write->thread)
			now = foretold[i].share;
	if (write)
		by = log((share_of(e, write->thread, true, now) + watched_new) /
			 (share_of(e, write->thread, false, 0) + watched_new)) +
		     watched_apart;
	keys(read, key);
	for (int level = 0; level < LEVELS; level++) {
		struct watched_writes *to = &watched->entry[slot_of(key[level])];

		if (to->key != key[level])
			*to = (struct watched_writes){.key = key[level]};
		halve(to);
		if (!write) {
			to->n_quiet++;
			continue;
		}
		to->n++;
		add_share(to->writer, write->thread, write->site, 1);
		for (i = 0; i < n_foretold; i++)
			if (foretold[i].share >= watched_least)
				add_share(to->foretold, foretold[i].thread, foretold[i].site,
					  foretold[i].share);
		add_odds(&to->odds[read->known], by);
	}
}

uint32_t comm_watch_next_shares(const struct comm_watch_next *watched,
				const struct comm_watch_next_read *read,
				struct comm_watch_next_writer *ret)
{
	const struct watched_writes *e[LEVELS];
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
	for (int i = 0; i < COMM_WATCH_NEXT_WRITERS; i++) {
		const struct writer *w =
			e[PLACE]->n > 0 ? &e[PLACE]->writer[i] : &e[OBJECT]->writer[i];

		if (w->n > 0)
			ret[n++] = (struct comm_watch_next_writer){
				w->thread, w->site, weight * share_of(e, w->thread, false, 0)};
	}
	return n;
}
