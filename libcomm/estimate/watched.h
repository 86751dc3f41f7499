/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watched reads: who wrote what is read, as windows on live words saw it, beside what the estimator says.
 * No model is in it: each pair stands for the bytes that were read by the chance with which its word
 * was drawn (Horvitz and Thompson, JASA 47, 1952), so what lies near a datum, or in the same object, is never taken
 * for it. That debug registers tell at samples who communicates: Sasongko et al., ComDetective, SC 2019.
 *
 * What it lacks: what is written again later than a window lasts.
 */
#ifndef COMM_WATCHED_H
#define COMM_WATCHED_H

#include "estimator.h"
#include "watched_sums.h"

struct comm_watched;

/* Reads of one thread, and who wrote last before them; write.flags 0: nobody was seen to write. */
struct comm_watched_pair {
	uint32_t reader, writer;
	double bytes; /* read, that it stands for */
	struct comm_access read, write;
};

int comm_watched_create(struct comm_watched **ret);
void comm_watched_destroy(struct comm_watched *watched);

/*
 * A pair that stands for nothing is left out.  Pairs of one window have its number and
 * come together: they are one observation.  0: a window of its own.
 */
void comm_watched_add(struct comm_watched *watched, uint32_t window,
		      const struct comm_watched_pair *pair);
/* Hands out the edges of what was added since the last call, whose watched_bytes alone are set. */
void comm_watched_take(struct comm_watched *watched, comm_edge_fn *emit, void *ctx,
		       struct comm_watched_sums *ret);

#endif
