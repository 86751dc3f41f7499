// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_next.h"
#include "hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WATCH_NEXT_SLOTS = 8192, /* the latest of a slot's entries stays */
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

struct writer {
	uint32_t thread, site;
	float n;
};

struct watch_next_writes {
	uint64_t key;
	float n, n_quiet;
	/* Where the estimator saw nobody write the datum, and where it did. */
	float odds[2];
	struct writer writer[COMM_WATCH_NEXT_WRITERS];
	struct writer foretold[COMM_WATCH_NEXT_WRITERS]; /* by the estimator: sums of shares */
};

struct comm_watch_next {
	struct watch_next_writes entry[WATCH_NEXT_SLOTS];
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

static uint32_t slot_of(uint64_t key)
{
	return key >> 40 & (WATCH_NEXT_SLOTS - 1);
}

/* All levels of a read; what was never watched has no writes. */
static void find(const struct comm_watch_next *w, const struct comm_watch_next_read *r,
		 const struct watch_next_writes **ret)
{
	static const struct watch_next_writes none;
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
 * A thread's share of the writes seen, the rest being writers not seen; or (foretold)
 * of what the estimator said of such reads, which for a new place is not taken from
 * other places.  share: the prior.
 */
static double share_of(const struct watch_next_writes *const *e, uint32_t thread, bool foretold,
		       double share)
{
	double prior = 1;

	for (int level = foretold ? PLACE : OBJECT; level < LEVELS; level++) {
		const struct writer *writer = foretold ? e[level]->foretold : e[level]->writer;

		share = (count_of(writer, thread) + prior * share) / (e[level]->n + prior);
		prior = watch_next_pooled;
	}
	return share;
}

/* A place has odds of its own, which start from those of its object. */
static double odds_of(const struct watch_next_writes *const *e, bool known)
{
	return fmin(watch_next_odds + e[OBJECT]->odds[known], watch_next_odds) +
	       e[PLACE]->odds[known];
}

static void add_odds(float *odds, double by)
{
	*odds = (float)fmax(fmin(*odds + by, watch_next_odds_most), -watch_next_odds_most);
}

static void halve(struct watch_next_writes *e)
{
	if (e->n + e->n_quiet < WATCH_NEXT_HALVE)
		return;
	e->n /= 2;
	e->n_quiet /= 2;
	for (int i = 0; i < COMM_WATCH_NEXT_WRITERS; i++) {
		e->writer[i].n /= 2;
		e->foretold[i].n /= 2;
	}
}

/* The writer with the fewest writes is replaced. */
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

void comm_watch_next_add(struct comm_watch_next *watch_next,
			 const struct comm_watch_next_read *read,
			 const struct comm_watch_next_write *write,
			 const struct comm_watch_next_writer *foretold, uint32_t n_foretold)
{
	const struct watch_next_writes *e[LEVELS];
	uint64_t key[LEVELS];
	double by = 0, now = 0;
	uint32_t i;

	find(watch_next, read, e);
	for (i = 0; write && i < n_foretold; i++)
		if (foretold[i].thread == write->thread)
			now = foretold[i].share;
	if (write)
		by = log((share_of(e, write->thread, true, now) + watch_next_new) /
			 (share_of(e, write->thread, false, 0) + watch_next_new)) +
		     watch_next_apart;
	keys(read, key);
	for (int level = 0; level < LEVELS; level++) {
		struct watch_next_writes *to = &watch_next->entry[slot_of(key[level])];

		if (to->key != key[level])
			*to = (struct watch_next_writes){.key = key[level]};
		halve(to);
		if (!write) {
			to->n_quiet++;
			continue;
		}
		to->n++;
		add_share(to->writer, write->thread, write->site, 1);
		for (i = 0; i < n_foretold; i++)
			if (foretold[i].share >= watch_next_least)
				add_share(to->foretold, foretold[i].thread, foretold[i].site,
					  foretold[i].share);
		add_odds(&to->odds[read->known], by);
	}
}

uint32_t comm_watch_next_shares(const struct comm_watch_next *watch_next,
				const struct comm_watch_next_read *read,
				struct comm_watch_next_writer *ret)
{
	const struct watch_next_writes *e[LEVELS];
	double quiet = 0, weight;
	uint32_t n = 0;

	find(watch_next, read, e);
	if (e[OBJECT]->n <= 0)
		return 0;
	/* A watch without a write says little of the last writer: that part stays the estimator's. */
	for (int level = 0; level < LEVELS; level++)
		quiet = (e[level]->n_quiet + watch_next_pooled * quiet) /
			(e[level]->n + e[level]->n_quiet + watch_next_pooled);
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
