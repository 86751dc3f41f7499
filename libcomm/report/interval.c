// SPDX-License-Identifier: GPL-2.0-or-later
#include "interval.h"

#include <math.h>

#include <comm/comm.h>

#define DEFAULT_CONFIDENCE 0.9

double comm_interval_z(double confidence)
{
	double low = 0, high = 10;

	if (!(confidence > 0 && confidence < 1))
		confidence = DEFAULT_CONFIDENCE;
	/* Bisects P(|Z| > z) = erfc(z / sqrt(2)) for z: slow, but once per report. */
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / M_SQRT2) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/*
 * The variance of the estimate's logarithm, as the sum of independent errors: sampling,
 * the common factor and the confusion of writers (error_model.h).  Here without the
 * confusion, which variance_of_log() adds.
 */
static double variance_of_factor(const struct comm_error_model *model,
				 const struct comm_estimate *e)
{
	double cv2 = e->variance > 0 ? e->variance / (e->bytes * e->bytes) : 0;

	return log1p(model->sampled_ends * cv2) + model->factor_sd * model->factor_sd;
}

static double variance_of_log(const struct comm_error_model *model, const struct comm_estimate *e)
{
	double others = e->read_bytes > e->bytes ? e->read_bytes / e->bytes - 1 : 0;

	return variance_of_factor(model, e) +
	       model->confusion_sd * model->confusion_sd * others * others;
}

void comm_interval(const struct comm_error_model *model, const struct comm_estimate *estimate,
		   double z, double *low, double *high)
{
	double factor, most;

	if (!(estimate->bytes > 0)) {
		*low = *high = 0;
		return;
	}
	factor = exp(z * sqrt(variance_of_log(model, estimate)));
	/* An edge cannot have more bytes than its reader reads from all writers together. */
	most = fmax(estimate->bytes, estimate->read_bytes) *
	       exp(z * sqrt(variance_of_factor(model, estimate)));
	*low = estimate->bytes / factor;
	*high = fmin(estimate->bytes * factor, most);
}

bool comm_interval_resolved(const struct comm_error_model *model,
			    const struct comm_estimate *estimate)
{
	double z = comm_interval_z(DEFAULT_CONFIDENCE);

	if (estimate->samples < COMM_RESOLVED_SAMPLES || !(estimate->bytes > 0))
		return false;
	return 2 * z * sqrt(variance_of_log(model, estimate)) <= log(COMM_RESOLVED_RATIO);
}
