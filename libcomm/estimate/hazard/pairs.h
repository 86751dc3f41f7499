/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of consecutive accesses that watchpoints saw: how often a thread that
 * reads around a datum was itself the last to write it.
 */
#ifndef COMM_PAIRS_H
#define COMM_PAIRS_H

#include "estimator.h"

struct comm_pairs;

int comm_pairs_create(uint32_t granularity_bytes, struct comm_pairs **ret);
void comm_pairs_destroy(struct comm_pairs *pairs);

void comm_pairs_add(struct comm_pairs *pairs, const struct comm_evidence *evidence);
bool comm_pairs_any(const struct comm_pairs *pairs, uint32_t reader, uint32_t object,
		    uint64_t datum);
/* The share of its own writes in what reader reads there, prior being expected. */
double comm_pairs_self(const struct comm_pairs *pairs, uint32_t reader, uint32_t object,
		       uint64_t datum, double prior);

#endif
