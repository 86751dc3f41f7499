/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Horvitz-Thompson weights: how many executed accesses one access seen in a
 * burst stands for.  A burst that starts at a random instant sees an access x
 * when it starts in the stretch [a, x] from which x can be reached, so the
 * chance is (x - a) / period.  The positions at which a static instruction is
 * seen are then uniform over the stretch, and twice their mean estimates it.
 *
 * Where accesses are sampled (PEBS), a burst starts at a random access, which is its
 * first, and goes on as far as the registers behind it lead.  That is the same design
 * with positions counted in accesses: an access that can be reached from r of them,
 * itself included, is met r times as often as it would be sampled by itself, and
 * counts period / r each time.  So no byte counts twice, though the sampled access and
 * the same one met by others' bursts are both in the sums; and where there are no
 * bursts, r is 1 and the weight the period.
 *
 * Two estimates of one stretch, one in cycles and one in instructions, are kept
 * per instruction; the burst's trigger tells which applies.  Few observations
 * are shrunk towards the length of the burst at hand.  The table is of fixed
 * size; instructions that find no place share one entry.
 *
 * Reference: Horvitz and Thompson, A generalization of sampling without
 * replacement from a finite universe, JASA 47 (1952).
 */
#ifndef COMM_WEIGHT_H
#define COMM_WEIGHT_H

#include "estimator.h"
#include "event.h"

struct comm_weights;

int comm_weights_create(double cycles_per_ns, struct comm_weights **ret);
void comm_weights_destroy(struct comm_weights *weights);

/* Learns one access of a burst; the slot names its instruction. */
uint32_t comm_weights_learn(struct comm_weights *weights, const struct comm_access_burst *burst,
			    const struct comm_access *access);

/* What a weight needs of the burst, to be asked for again later. */
struct comm_weight_burst {
	double period;
	float cycles, insns;
	uint8_t trigger;
	bool exact;
};
void comm_weight_burst(const struct comm_access_burst *burst, struct comm_weight_burst *ret);

/* Executed accesses per access seen, not scaled by .known. */
double comm_weight_of(const struct comm_weights *weights, const struct comm_weight_burst *burst,
		      uint32_t slot);

#endif
