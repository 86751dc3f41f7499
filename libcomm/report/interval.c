// SPDX-License-Identifier: GPL-2.0-or-later
#include "interval.h"

#include <math.h>

#include <comm/comm.h>

/*
 * The variance that the estimator gives is that of the reader's bursts.  Three
 * things come on top, each as a standard deviation of the logarithm.  The
 * writers were sampled as well, as often as the readers: twice the variance.
 * What an access stands for errs by a factor, most of all where the model of
 * time does.  And a share of all that is read at one place goes to a wrong
 * writer: much for a small edge beside a large one, such as the rim of a
 * stencil, little for an edge that is all its reader reads.
 *
 * The constants were chosen on one half of the kernels of tests/truth and
 * checked on the other (tests/truth/README.md).
 */
#define SAMPLED_ENDS 2.0
#define FACTOR_SD 0.3
#define CONFUSION_SD 0.175

#define DEFAULT_CONFIDENCE 0.9

double comm_interval_z(double confidence)
{
	double low = 0, high = 10;

	if (!(confidence > 0 && confidence < 1))
		confidence = DEFAULT_CONFIDENCE;
	/* P(|Z| > z) = erfc(z / sqrt(2)), bisected: once per report. */
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / M_SQRT2) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* Of the logarithm, without and with confusion. */
static double variance_of_factor(const struct comm_estimate *e)
{
	double cv2 = e->variance > 0 ? e->variance / (e->bytes * e->bytes) : 0;

	return log1p(SAMPLED_ENDS * cv2) + FACTOR_SD * FACTOR_SD;
}

static double variance_of_log(const struct comm_estimate *e)
{
	double others = e->read_bytes > e->bytes ? e->read_bytes / e->bytes - 1 : 0;

	return variance_of_factor(e) + CONFUSION_SD * CONFUSION_SD * others * others;
}

void comm_interval(const struct comm_estimate *estimate, double z, double *low, double *high)
{
	double factor, most;

	if (!(estimate->bytes > 0)) {
		*low = *high = 0;
		return;
	}
	factor = exp(z * sqrt(variance_of_log(estimate)));
	/* Whoever wrote it, more than all that is read it cannot be. */
	most = fmax(estimate->bytes, estimate->read_bytes) *
	       exp(z * sqrt(variance_of_factor(estimate)));
	*low = estimate->bytes / factor;
	*high = fmin(estimate->bytes * factor, most);
}

bool comm_interval_resolved(const struct comm_estimate *estimate)
{
	double z = comm_interval_z(DEFAULT_CONFIDENCE);

	if (estimate->samples < COMM_RESOLVED_SAMPLES || !(estimate->bytes > 0))
		return false;
	return 2 * z * sqrt(variance_of_log(estimate)) <= log(COMM_RESOLVED_RATIO);
}
