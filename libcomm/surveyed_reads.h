/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surveyed reads: what the survey tells of the reads that it has drawn, as the engine's slice has it: words of its
 * census, and pairs of a write and a read that its windows saw.  Where a look has told that a thread wrote, and not in
 * which code, it has that guessed (seen_writers.h).
 *
 * Not for how reads are drawn and watched (daemon/companion/), nor for what pairs add up to (watched.h).  Owns the
 * sums of windows and the seen writers.  engine.c has one, and gives it each COMM_EV_CENSUS and COMM_EV_FED.
 */
#ifndef COMM_SURVEYED_READS_H
#define COMM_SURVEYED_READS_H

#include "chosen_functions.h"
#include "estimator.h"
#include "event.h"
#include "movers.h"
#include "resolver.h"
#include "seen_writers.h"
#include "watched.h"

struct comm_surveyed_reads {
	/* All outlive it. */
	const struct comm_resolver *resolver; /* with the slice that is told */
	struct comm_movers *movers;
	struct comm_chosen_functions *chosen;
	const struct comm_est_ops *ops; /* may want words of the census, too */
	void *est;
	double cycles_per_ns;
	/* Its own. */
	struct comm_watched *watched;
	struct comm_seen_writers *seen_writers; /* from when it is first asked for; NULL: not yet */
};

/* Of a zeroed one.  -ENOMEM. */
int comm_surveyed_reads_init(struct comm_surveyed_reads *reads);
void comm_surveyed_reads_deinit(struct comm_surveyed_reads *reads);

/* What samples saw written, for guesses. */
void comm_surveyed_reads_burst(struct comm_surveyed_reads *reads,
			       const struct comm_access_burst *burst);
/* A word of the census, by samples of a trigger.  region: as neither a trap nor a look tells one. */
void comm_surveyed_reads_word(struct comm_surveyed_reads *reads, const struct comm_event *event,
			      uint32_t trigger, uint32_t region);
/* What a window saw. */
void comm_surveyed_reads_pair(struct comm_surveyed_reads *reads, const struct comm_event *event,
			      uint32_t trigger, uint32_t region);
/* The slice ends: it gets the edges of its windows. */
void comm_surveyed_reads_take(struct comm_surveyed_reads *reads);

#endif
