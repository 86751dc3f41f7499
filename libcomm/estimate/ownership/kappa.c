// SPDX-License-Identifier: GPL-2.0-or-later
#include "kappa.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { KAPPA_OBJECTS = 4096 }; /* the others share what all objects have in common */

static const double kappa_grid[] = OWNERSHIP_KAPPA;

enum { KAPPA_GRID = sizeof(kappa_grid) / sizeof(kappa_grid[0]) };

struct kappa_object {
	float log_likelihood[COMM_NEST_LEVELS][KAPPA_GRID];
	float kappa[COMM_NEST_LEVELS]; /* 0: nothing was learned yet */
	bool learned;
};

struct comm_kappas {
	struct kappa_object all;
	double n; /* bursts that all rests on */
	struct kappa_object object[KAPPA_OBJECTS];
};

int comm_kappas_create(struct comm_kappas **ret)
{
	struct comm_kappas *kappas = calloc(1, sizeof(*kappas));

	if (!kappas)
		return -ENOMEM;
	comm_kappas_settle(kappas);
	*ret = kappas;
	return 0;
}

void comm_kappas_destroy(struct comm_kappas *kappas)
{
	free(kappas);
}

double comm_kappa(const struct comm_kappas *kappas, uint32_t object, uint32_t level)
{
	const struct kappa_object *o =
		object < KAPPA_OBJECTS ? &kappas->object[object] : &kappas->all;

	return o->kappa[level] > 0 ? o->kappa[level] : kappas->all.kappa[level];
}

void comm_kappas_learn(struct comm_kappas *kappas, uint32_t object,
		       const struct comm_nest_view *view, uint32_t thread, double weight)
{
	struct kappa_object *o = object < KAPPA_OBJECTS ? &kappas->object[object] : NULL;
	const struct comm_nest_voter *voter = NULL;
	double p = 1.0 / (view->n + 1);

	for (uint32_t i = 0; i < view->n; i++)
		if (view->voter[i].thread == thread)
			voter = &view->voter[i];
	for (uint32_t level = COMM_NEST_LEVELS; level-- > 0;) {
		double mine = voter ? voter->votes[level] : 0, n = view->votes[level];
		double kappa = comm_kappa(kappas, object, level);

		if (n <= 0)
			continue;
		for (int i = 0; i < KAPPA_GRID; i++) {
			double score =
				weight * log((mine + kappa_grid[i] * p) / (n + kappa_grid[i]));

			kappas->all.log_likelihood[level][i] += (float)score;
			if (o)
				o->log_likelihood[level][i] += (float)score;
		}
		p = (mine + kappa * p) / (n + kappa);
	}
	kappas->n += weight;
	if (o)
		o->learned = true;
}

/* An object's own likelihood, times that of all objects as if it rested on few bursts. */
static void kappa_settle(struct comm_kappas *kappas, struct kappa_object *o)
{
	double shared = o == &kappas->all ? 0 : 1 / (1 + kappas->n / OWNERSHIP_KAPPA_SHARED);

	for (uint32_t level = 0; level < COMM_NEST_LEVELS; level++) {
		double score[KAPPA_GRID], most = -INFINITY, sum = 0, mean = 0;

		for (int i = 0; i < KAPPA_GRID; i++) {
			score[i] = o->log_likelihood[level][i] +
				   shared * kappas->all.log_likelihood[level][i];
			most = fmax(most, score[i]);
		}
		for (int i = 0; i < KAPPA_GRID; i++) {
			double e = exp(score[i] - most);

			sum += e;
			mean += e * log(kappa_grid[i]);
		}
		o->kappa[level] = (float)exp(mean / sum);
	}
}

void comm_kappas_settle(struct comm_kappas *kappas)
{
	kappa_settle(kappas, &kappas->all);
	for (uint32_t i = 0; i < KAPPA_OBJECTS; i++)
		if (kappas->object[i].learned)
			kappa_settle(kappas, &kappas->object[i]);
}
