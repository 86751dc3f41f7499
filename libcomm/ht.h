/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Horvitz-Thompson weights: how many executed accesses one access seen in a
 * burst stands for.  A burst that starts at a random instant sees an access x
 * when it starts in the stretch [a, x] from which x can be reached, so the
 * chance is (x - a) / period.  The positions at which a static instruction is
 * seen are then uniform over the stretch, and twice their mean estimates it.
 *
 * Two estimates of one stretch, one in cycles and one in instructions, are kept
 * per instruction; the burst's trigger tells which applies.  Few observations
 * are shrunk towards the length of the burst at hand.  The table is of fixed
 * size; instructions that find no place share one entry.
 *
 * Reference: Horvitz and Thompson, A generalization of sampling without
 * replacement from a finite universe, JASA 47 (1952).
 */
#ifndef COMM_HT_H
#define COMM_HT_H

#include "est.h"
#include "event.h"

struct comm_ht;

int comm_ht_create(double cycles_per_ns, struct comm_ht **ret);
void comm_ht_destroy(struct comm_ht *ht);

/* Learns one access of a burst; the slot names its instruction. */
uint32_t comm_ht_learn(struct comm_ht *ht, const struct comm_access_burst *burst,
		       const struct comm_access *access);

/* What a weight needs of the burst, to be asked for again later. */
struct comm_ht_burst {
	double period;
	float cycles, insns;
	uint8_t trigger;
	bool exact;
};
void comm_ht_burst(const struct comm_access_burst *burst, struct comm_ht_burst *ret);

/* Executed accesses per access seen, not scaled by .known. */
double comm_ht_weight(const struct comm_ht *ht, const struct comm_ht_burst *burst, uint32_t slot);

#endif
