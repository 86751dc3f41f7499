/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals of estimated volumes, and when an edge counts as resolved.
 *
 * An interval is never narrower than the run's own blocks of time show: of the model's
 * sampling variance and the variance between blocks the larger one counts.
 */
#ifndef COMM_INTERVAL_H
#define COMM_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include <comm/comm.h>

#include "blocks.h"
#include "error_model.h"

/*
 * A read of what its thread wrote itself is put down to another thread more rarely than a read of
 * what another thread wrote: it counts so much in the confusion.  docs/method/accuracy.md has what
 * other weights state.
 */
#define COMM_OWN_CONFUSED 0.5

/*
 * Standard normal quantile for a central interval: 1.645 for 0.9.  A
 * confidence outside of (0, 1) means 0.9.
 */
double comm_interval_z(double confidence);

/* An estimated volume. */
struct comm_estimate {
	double bytes;
	double share;	   /* of all volumes of the run that bytes are; 0: nobody asks */
	double variance;   /* from sampling the reader's bursts */
	double read_bytes; /* estimate of all that the reading end reads, from any writer */
	double own_bytes; /* of read_bytes without bytes: what the reading threads wrote themselves */
	/*
	 * Share of bytes that one piece of code reads and another thread's same one wrote last.  Code that takes
	 * turns at a datum (lock and unlock) is met about as often as its partner, and who came
	 * last is told by how often each is met: all else that it reads may be of the partner, and this too.
	 */
	double in_turns;
	double doubt_bytes;   /* of bytes: how unsure the estimator is of who wrote them (edge.h) */
	double unknown_bytes; /* that the same end reads of writers nobody knows: this one's, maybe */
	uint64_t samples;
	uint64_t slices; /* in which it was seen */
	struct comm_block_sums sums;
};

/* Of edges, as far as each of them errs by itself. */
struct comm_interval_sums {
	double bytes, variance;
};

/* What the intervals of a report have in common. */
struct comm_intervals {
	const struct comm_error_model *model; /* of the run's estimator */
	const struct comm_blocks *blocks;
	double z, t;	 /* normal and Student's quantile of the confidence asked for */
	double z90, t90; /* the same of 90 % */
	const struct comm_interval_sums *all; /* of the edges that shares are of, or NULL */
	bool is_hidden; /* more was read of writers that nobody saw than shares may err by */
	bool is_survey; /* samples are windows, in which the last writer was seen */
};

/* all: of the edges that shares are of; NULL: nobody asks for shares. */
void comm_intervals_init(struct comm_intervals *intervals, const struct comm_error_model *model,
			 const struct comm_blocks *blocks, const struct comm_interval_sums *all,
			 double confidence);

/* Adds an edge to those that shares are of: what it errs by concerns the shares of the others. */
void comm_intervals_add(const struct comm_intervals *intervals,
			const struct comm_estimate *estimate, struct comm_interval_sums *all);
/*
 * Gives 0 <= *low <= bytes <= *high.  *spread >= 1 is what the estimate errs by apart from the
 * factor that is common to all volumes of the run: its share of them lies within
 * share / *spread and share * *spread.
 */
void comm_intervals_of(const struct comm_intervals *intervals, const struct comm_estimate *estimate,
		       double *low, double *high, double *spread);
/* All of an edge's. */
void comm_intervals_state(const struct comm_intervals *intervals,
			  const struct comm_estimate *estimate, struct comm_interval *ret);
/*
 * Is the estimate resolved, as comm.h says?  Always takes the 90 % interval: the answer must not
 * change with the confidence that a user asks for.
 */
bool comm_intervals_resolve(const struct comm_intervals *intervals,
			    const struct comm_estimate *estimate);

#endif
