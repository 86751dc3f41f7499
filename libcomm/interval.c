// SPDX-License-Identifier: GPL-2.0-or-later
#include "interval.h"

#include <math.h>

#include "comm/comm.h"

/*
 * Sampling alone explains too little: a Poisson bootstrap over samples covered
 * the truth in 78 % of nominal 90 % intervals on 14 kernels of known matrices;
 * with a relative systematic standard deviation of 25 % it covered 91 %.
 */
#define SYSTEMATIC_SD 0.25

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

/* Half the logarithmic width of the interval. */
static double spread(double bytes, double variance, double z)
{
	double cv2 = variance / (bytes * bytes) + SYSTEMATIC_SD * SYSTEMATIC_SD;

	return z * sqrt(log1p(cv2));
}

void comm_interval(double bytes, double variance, double z, double *low, double *high)
{
	double factor;

	if (!(bytes > 0)) {
		*low = *high = 0;
		return;
	}
	factor = exp(spread(bytes, variance > 0 ? variance : 0, z));
	*low = bytes / factor;
	*high = bytes * factor;
}

bool comm_interval_resolved(double bytes, double variance, uint64_t samples)
{
	double z = comm_interval_z(DEFAULT_CONFIDENCE);

	if (samples < COMM_RESOLVED_SAMPLES || !(bytes > 0))
		return false;
	return 2 * spread(bytes, variance > 0 ? variance : 0, z) <= log(COMM_RESOLVED_RATIO);
}
