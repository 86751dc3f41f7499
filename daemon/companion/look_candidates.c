// SPDX-License-Identifier: GPL-2.0-or-later
#include "look_candidates.h"

#include <math.h>
#include <stdbool.h>

enum {
	THREADS = 64, /* bits of a set; a change with a candidate beyond has no known writer */
	STEPS = 200,
};

/* A thread writes if the changes are less likely without it (Wilks 1938: half of chi-square's 95 %). */
static const double NEEDED = 1.92;
/* Who is named has this part of the changes that could be its own or its companions', at least. */
static const double SURE = 0.9;
/* Of the likelihood's logarithm: what a step gains at least. */
static const double GAIN = 1e-6;

/* A word's changes, by who could have written them. */
struct word {
	uint32_t tid[THREADS];
	unsigned int n_tids;
	struct {
		uint64_t who; /* bits of the candidates */
		double n;     /* changes */
	} set[COMM_LOOK_CHANGES_MAX];
	unsigned int n_sets;
	int set_of[COMM_LOOK_CHANGES_MAX]; /* by change; -1: nobody is known */
};

/* Returns the thread's bit; 0: there is no room. */
static uint64_t bit_of(struct word *w, uint32_t tid)
{
	for (unsigned int i = 0; i < w->n_tids; i++)
		if (w->tid[i] == tid)
			return 1ULL << i;
	if (w->n_tids == THREADS)
		return 0;
	w->tid[w->n_tids] = tid;
	return 1ULL << w->n_tids++;
}

static uint64_t candidates(struct word *w, const struct comm_look_interval *interval, size_t n,
			   const struct comm_look_change *change)
{
	uint64_t who = 0, bit;

	for (size_t i = 0; i < n && interval[i].from_ns < change->until_ns; i++) {
		if (interval[i].to_ns <= change->since_ns)
			continue;
		bit = bit_of(w, interval[i].tid);
		if (!bit)
			return 0;
		who |= bit;
	}
	return who;
}

static int set_of(struct word *w, uint64_t who)
{
	unsigned int i = 0;

	if (!who)
		return -1;
	while (i < w->n_sets && w->set[i].who != who)
		i++;
	if (i == w->n_sets) {
		w->set[w->n_sets++].who = who;
		w->set[i].n = 0;
	}
	w->set[i].n++;
	return (int)i;
}

/* Looks at a word follow each other, but for CPUs that look at once. */
static void find_candidates(struct word *w, const struct comm_look_interval *interval, size_t n,
			    const struct comm_look_change *change, size_t n_changes)
{
	uint64_t since_ns[COMM_LOOK_CHANGES_MAX + 1]; /* the earliest of all that follow */
	size_t at = 0;

	since_ns[n_changes] = UINT64_MAX;
	for (size_t i = n_changes; i > 0; i--)
		since_ns[i - 1] = change[i - 1].since_ns && change[i - 1].since_ns < since_ns[i]
					  ? change[i - 1].since_ns
					  : since_ns[i];
	for (size_t i = 0; i < n_changes; i++) {
		while (at < n && interval[at].to_ns <= since_ns[i])
			at++;
		w->set_of[i] = change[i].since_ns
				       ? set_of(w, candidates(w, interval + at, n - at, &change[i]))
				       : -1;
	}
}

/* One step of the EM: replaces the shares; returns the likelihood's logarithm before it. */
static double step(const struct word *w, double share[THREADS])
{
	double sum[THREADS] = {0}, all = 0, ret = 0;

	for (unsigned int i = 0; i < w->n_sets; i++) {
		double of_set = 0, n = w->set[i].n;

		for (uint64_t who = w->set[i].who; who; who &= who - 1)
			of_set += share[__builtin_ctzll(who)];
		if (!(of_set > 0))
			return -INFINITY;
		for (uint64_t who = w->set[i].who; who; who &= who - 1) {
			int k = __builtin_ctzll(who);

			sum[k] += n * share[k] / of_set;
		}
		all += n;
		ret += n * log(of_set);
	}
	for (unsigned int k = 0; k < w->n_tids && all > 0; k++)
		share[k] = sum[k] / all;
	return ret;
}

/* The best shares of all threads but those left out; returns the likelihood's logarithm. */
static double fit(const struct word *w, uint64_t left_out, double share[THREADS])
{
	double now = -INFINITY, before;

	for (unsigned int k = 0; k < w->n_tids; k++)
		share[k] = left_out >> k & 1 ? 0 : 1.0 / w->n_tids;
	for (int i = 0; i < STEPS; i++) {
		before = now;
		now = step(w, share);
		if (isinf(now) || now - before < GAIN)
			break;
	}
	return now;
}

/* The candidate that surely wrote the change, as far as shares tell; -1: none is. */
static int likeliest(uint64_t who, const double share[THREADS])
{
	double of_set = 0;
	int best = -1;

	for (; who; who &= who - 1) {
		int k = __builtin_ctzll(who);

		of_set += share[k];
		if (best < 0 || share[k] > share[best])
			best = k;
	}
	return best >= 0 && share[best] > SURE * of_set ? best : -1;
}

/* Threads without whom the changes are hardly explained, of those that are the likeliest of some. */
static uint64_t needed(const struct word *w, const double share[THREADS], double likelihood)
{
	uint64_t asked = 0, ret = 0;
	double without[THREADS];

	for (unsigned int i = 0; i < w->n_sets; i++) {
		int k = likeliest(w->set[i].who, share);
		uint64_t bit = k < 0 ? 0 : 1ULL << k;

		if (!bit || asked & bit)
			continue;
		asked |= bit;
		if (likelihood - fit(w, bit, without) > NEEDED)
			ret |= bit;
	}
	return ret;
}

void comm_look_candidates_settle(const struct comm_look_interval *interval, size_t n_intervals,
				 struct comm_look_change *change, size_t n)
{
	struct word w;
	double share[THREADS], likelihood;
	uint64_t writers;

	n = n < COMM_LOOK_CHANGES_MAX ? n : COMM_LOOK_CHANGES_MAX;
	w.n_tids = w.n_sets = 0;
	find_candidates(&w, interval, n_intervals, change, n);
	likelihood = fit(&w, 0, share);
	writers = needed(&w, share, likelihood);
	for (size_t i = 0; i < n; i++) {
		uint64_t who = w.set_of[i] < 0 ? 0 : w.set[w.set_of[i]].who;
		int k = likeliest(who, share);

		change[i].n_candidates = (uint32_t)__builtin_popcountll(who);
		change[i].tid = k >= 0 && writers >> k & 1 ? w.tid[k] : 0;
	}
}
