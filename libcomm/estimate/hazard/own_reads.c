// SPDX-License-Identifier: GPL-2.0-or-later
#include "own_reads.h"

#include "hash.h"
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { OWN_READS_BITS = 12 /* objects share slots beyond that */ };

struct own_sums {
	float reads, seen, coarse;
};

struct comm_own_reads {
	struct own_sums all, object[1 << OWN_READS_BITS];
};

int comm_own_reads_create(struct comm_own_reads **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_own_reads_destroy(struct comm_own_reads *own)
{
	free(own);
}

static uint32_t own_reads_at(uint32_t object)
{
	return comm_hash_word(object) >> (64 - OWN_READS_BITS);
}

static void own_reads_add(struct own_sums *sums, double seen, double coarse, double weight)
{
	sums->reads += (float)weight;
	sums->seen += (float)(weight * seen);
	sums->coarse += (float)(weight * coarse);
}

void comm_own_reads_learn(struct comm_own_reads *own, uint32_t object, double seen, double coarse,
			  double weight)
{
	own_reads_add(&own->all, seen, coarse, weight);
	own_reads_add(&own->object[own_reads_at(object)], seen, coarse, weight);
}

/* What sums, of so many reads at most, make of the factor before them. */
static double own_reads_lean(const struct own_sums *sums, bool itself, double most, double factor)
{
	double seen = itself ? sums->seen : sums->reads - sums->seen;
	double coarse = itself ? sums->coarse : sums->reads - sums->coarse;
	double mean, scale;

	if (sums->reads <= 0)
		return factor;
	mean = fmax(coarse / sums->reads, comm_parameter(COMM_P_rare));
	scale = fmin(1, most / sums->reads);
	return (scale * seen + comm_parameter(COMM_P_half) * factor * mean) /
	       (scale * coarse + comm_parameter(COMM_P_half) * mean);
}

double comm_own_reads_factor(const struct comm_own_reads *own, uint32_t object, bool itself)
{
	double factor;

	if (comm_without(COMM_TERM_own_reads))
		return 1;
	factor = own_reads_lean(&own->all, itself, comm_parameter(COMM_P_enough), 1);
	return own_reads_lean(&own->object[own_reads_at(object)], itself, INFINITY, factor);
}

static void own_reads_half(struct own_sums *sums)
{
	sums->reads /= 2;
	sums->seen /= 2;
	sums->coarse /= 2;
}

void comm_own_reads_halve(struct comm_own_reads *own)
{
	own_reads_half(&own->all);
	for (uint32_t i = 0; i < 1 << OWN_READS_BITS; i++)
		if (own->object[i].reads > 0) /* pages of nothing stay the kernel's page of zeros */
			own_reads_half(&own->object[i]);
}
