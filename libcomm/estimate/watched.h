/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watched reads: an estimate of who wrote what is read that needs no model of who may have, beside
 * the estimator's.  Of the reads that bursts meet, some are drawn with a known chance, and a
 * watchpoint says who writes that datum.  Each stands for the bytes that were read by its chance
 * (Horvitz and Thompson, JASA 47, 1952): what lies near a datum, or in the same object, is
 * never taken for it.  That debug registers
 * tell at samples who communicates: Sasongko et al., ComDetective, SC 2019.
 *
 * What it lacks: what is written again later than a watch lasts has no answer; and the writer is of
 * the next writes, some time after the read, which are taken for what the last ones were.
 */
#ifndef COMM_WATCHED_H
#define COMM_WATCHED_H

#include "estimator.h"
#include "watched_sums.h"

struct comm_watched;

int comm_watched_create(struct comm_watched **ret);
void comm_watched_destroy(struct comm_watched *watched);

/*
 * Evidence whose first_bytes are not known is left out.  Pairs of one window have its number and
 * come together: they are one observation.  0: a window of its own.
 */
void comm_watched_add(struct comm_watched *watched, uint32_t window,
		      const struct comm_evidence *evidence);
/* Hands out the edges of what was added since the last call, whose watched_bytes alone are set. */
void comm_watched_take(struct comm_watched *watched, comm_edge_fn *emit, void *ctx,
		       struct comm_watched_sums *ret);

#endif
