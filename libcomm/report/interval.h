/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals of estimated volumes, and when an edge counts as resolved.
 */
#ifndef COMM_INTERVAL_H
#define COMM_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "error_model.h"

/*
 * Standard normal quantile for a central interval: 1.645 for 0.9.  A
 * confidence outside of (0, 1) means 0.9.
 */
double comm_interval_z(double confidence);
/* An estimated volume. */
struct comm_estimate {
	double bytes;
	double variance;   /* from sampling the reader's bursts */
	double read_bytes; /* estimate of all that the reading end reads, from any writer */
	uint64_t samples;
};

/* Gives 0 <= *low <= bytes <= *high.  model: that of the run's estimator. */
void comm_interval(const struct comm_error_model *model, const struct comm_estimate *estimate,
		   double z, double *low, double *high);
/*
 * False for few bursts or a wide interval.  Always takes the 90 % interval: the answer
 * must not change with the confidence that a user asks for.
 */
bool comm_interval_resolved(const struct comm_error_model *model,
			    const struct comm_estimate *estimate);

#endif
