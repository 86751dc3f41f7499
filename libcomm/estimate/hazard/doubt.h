/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doubt: how unsure the chances that an estimator gives a read's writers leave it of each of them,
 * which is comm_doubts of edge.h.  Of writers (thread t, code c) with the chances q(t, c), whose sum is
 * one, the doubt of t is 1 - sum over c of q(t, c), that of c is 1 - sum over t of q(t, c), and so on: the more
 * writers count as the same, the smaller it is.
 *
 * A sum of q (1 - q) over reads is the variance of how many of them a writer has, were each drawn by these
 * chances.  But chances of reads that are alike err alike, so an edge errs in proportion to the sum, not to its root
 * (doubt_sd of error_model.h; docs/method/accuracy.md has how well that foretells errors).
 */
#ifndef COMM_DOUBT_H
#define COMM_DOUBT_H

#include "candidate.h"
#include "edge.h"
#include "seat.h"

enum { COMM_DOUBT_WRITERS = COMM_SEAT_PARTS * COMM_CANDIDATES * COMM_ACTOR_SITES + 1 };

struct comm_doubt_writer {
	uint32_t thread, role, site; /* role 0: like no other thread */
	double share;		     /* of the read: chances times a factor of all */
};

/* The writers of one read; zeroed, but for the reader, there are none. */
struct comm_doubt {
	uint32_t reader, n;
	double all; /* the sum of the shares */
	struct comm_doubt_writer writer[COMM_DOUBT_WRITERS];
};

void comm_doubt_begin(struct comm_doubt *doubt, uint32_t reader);
/* One more than COMM_DOUBT_WRITERS is left out. */
void comm_doubt_add(struct comm_doubt *doubt, const struct comm_doubt_writer *writer);
struct comm_doubts comm_doubt_of(const struct comm_doubt *doubt,
				 const struct comm_doubt_writer *of);

#endif
