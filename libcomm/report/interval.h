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
	double variance;   /* of sampling the reader's bursts */
	double read_bytes; /* all that was estimated for the reading end, whoever wrote */
	uint64_t samples;
};

/* 0 <= *low <= bytes <= *high.  The model is that of the run's estimator. */
void comm_interval(const struct comm_error_model *model, const struct comm_estimate *estimate,
		   double z, double *low, double *high);
/*
 * Few bursts or a wide 90 % interval, whichever interval is shown: the mark
 * must not change with the confidence that a user asks for.
 */
bool comm_interval_resolved(const struct comm_error_model *model,
			    const struct comm_estimate *estimate);

#endif
