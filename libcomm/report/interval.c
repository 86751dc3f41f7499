// SPDX-License-Identifier: GPL-2.0-or-later
#include "interval.h"

#include <math.h>

#define DEFAULT_CONFIDENCE 0.9

/* As confusion_sd, of code that may take turns with other code (in_turns); docs/method/accuracy.md. */
static const double TURNS_SD = 1;

/* Of a survey's flows: what says something, however far a share may be above it. */
static const double LEAST_SHARE = 0.02;

/* Times an edge, what else its reader reads: no more in any run.  Infinities would make up what is no number. */
static const double OTHERS_MOST = 1e30;

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

void comm_intervals_init(struct comm_intervals *intervals, const struct comm_error_model *model,
			 const struct comm_blocks *blocks, const struct comm_interval_sums *all,
			 double confidence)
{
	if (!(confidence > 0 && confidence < 1))
		confidence = DEFAULT_CONFIDENCE;
	intervals->model = model;
	intervals->blocks = blocks;
	intervals->z = comm_interval_z(confidence);
	intervals->t = comm_blocks_t(blocks, confidence);
	intervals->z90 = comm_interval_z(DEFAULT_CONFIDENCE);
	intervals->t90 = comm_blocks_t(blocks, DEFAULT_CONFIDENCE);
	intervals->all = all;
	intervals->is_hidden = intervals->is_survey = false;
}

/*
 * The squared coefficient of variation by which sampling errs: that of the model or that
 * between blocks, whichever is larger.  The latter is scaled so that z times its root is
 * what Student's t gives.
 */
static double sampling_cv2(const struct comm_intervals *intervals, const struct comm_estimate *e,
			   double z, double t)
{
	double variance = e->variance > 0 ? intervals->model->sampled_ends * e->variance : 0;
	double between = comm_blocks_variance(intervals->blocks, &e->sums, NULL) * t * t / (z * z);

	variance = fmax(variance, between);
	return variance > 0 ? variance / (e->bytes * e->bytes) : 0;
}

/*
 * What is put down to wrong writers: by the doubts of the estimator, or of one that has none by what
 * else the edge's reader reads.
 */
static double wrong_writers(const struct comm_error_model *model, const struct comm_estimate *e,
			    double others)
{
	if (model->doubt_sd > 0)
		return model->doubt_sd * e->doubt_bytes / e->bytes;
	others -= (1 - COMM_OWN_CONFUSED) * fmin(others, e->own_bytes / e->bytes);
	return model->confusion_sd * others;
}

/*
 * The variance of an estimate's logarithm is the sum of independent errors: sampling, the
 * common factor and this one, the confusion of writers (error_model.h).
 */
static double confusion(const struct comm_error_model *model, const struct comm_estimate *e)
{
	double others = fmin(OTHERS_MOST, fmax(0, e->read_bytes / e->bytes - 1));
	double turns = TURNS_SD * e->in_turns * others;
	double wrong = wrong_writers(model, e, others);

	return wrong * wrong + turns * turns + model->edge_sd * model->edge_sd;
}

/*
 * The variance of an estimate's bytes, as far as it errs alone.  It may be wrong altogether, but
 * not by more than it is.
 */
static double variance_of(const struct comm_intervals *intervals, const struct comm_estimate *e)
{
	double cv2;

	if (!(e->bytes > 0))
		return 0;
	cv2 = sampling_cv2(intervals, e, intervals->z90, intervals->t90) +
	      confusion(intervals->model, e);
	return fmin(cv2, 1) * e->bytes * e->bytes;
}

void comm_intervals_add(const struct comm_intervals *intervals,
			const struct comm_estimate *estimate, struct comm_interval_sums *all)
{
	all->bytes += estimate->bytes;
	all->variance += variance_of(intervals, estimate);
}

/*
 * The variance that the other edges' errors add to the logarithm of this one's share s: of what the
 * logarithm of their sum errs by, the part 1 - s comes through.
 */
static double others_variance(const struct comm_intervals *intervals, const struct comm_estimate *e)
{
	double bytes, variance, part = 1 - e->share;

	if (!intervals->all)
		return 0;
	bytes = intervals->all->bytes - e->bytes;
	variance = intervals->all->variance - variance_of(intervals, e);
	if (!(bytes > 0) || !(variance > 0))
		return 0;
	return part * part * log1p(variance / (bytes * bytes));
}

/* What writers that nobody knows may add to an edge, as a part of it. */
static double unknown_part(const struct comm_estimate *e)
{
	return e->bytes > 0 ? e->unknown_bytes / e->bytes : 0;
}

/* What an estimate's share errs by, own: by chance. */
static double spread_of(const struct comm_intervals *intervals, const struct comm_estimate *e,
			double z, double own)
{
	return exp(z * sqrt(own + confusion(intervals->model, e) + others_variance(intervals, e)));
}

void comm_intervals_of(const struct comm_intervals *intervals, const struct comm_estimate *estimate,
		       double *low, double *high, double *spread)
{
	const struct comm_error_model *model = intervals->model;
	double common = model->factor_sd * model->factor_sd, own, factor, most;

	*spread = 1;
	if (!(estimate->bytes > 0)) {
		*low = *high = 0;
		return;
	}
	own = log1p(sampling_cv2(intervals, estimate, intervals->z, intervals->t));
	factor = exp(intervals->z * sqrt(own + common + confusion(model, estimate)));
	/* An edge cannot have more bytes than its reader reads from all writers together. */
	most = fmax(estimate->bytes, estimate->read_bytes) * exp(intervals->z * sqrt(own + common));
	*low = estimate->bytes / factor;
	*high = fmin(estimate->bytes * factor + estimate->unknown_bytes, most);
	*spread = spread_of(intervals, estimate, intervals->z, own);
}

/* The factor by which sampling alone errs. */
static double noise_of(const struct comm_intervals *intervals, const struct comm_estimate *estimate)
{
	if (!(estimate->bytes > 0))
		return 1;
	return exp(intervals->z *
		   sqrt(log1p(sampling_cv2(intervals, estimate, intervals->z, intervals->t))));
}

void comm_intervals_state(const struct comm_intervals *intervals,
			  const struct comm_estimate *estimate, struct comm_interval *ret)
{
	double share = estimate->share, spread;

	*ret = (struct comm_interval){estimate->bytes, estimate->bytes, share, share, 1};
	if (comm_error_model_is_exact(intervals->model))
		return;
	comm_intervals_of(intervals, estimate, &ret->low, &ret->high, &spread);
	ret->share_low = share / spread;
	ret->share_high = fmin(1, share * (spread + unknown_part(estimate)));
	ret->noise = noise_of(intervals, estimate);
}

/* Do enough windows say of a flow that its share is no less than so much? */
static bool has_least(const struct comm_intervals *intervals, const struct comm_estimate *e)
{
	double own;

	if (!intervals->is_survey || e->samples < COMM_RESOLVED_WINDOWS)
		return false;
	own = log1p(sampling_cv2(intervals, e, intervals->z90, intervals->t90));
	return e->share / spread_of(intervals, e, intervals->z90, own) >= LEAST_SHARE;
}

bool comm_intervals_resolve(const struct comm_intervals *intervals,
			    const struct comm_estimate *estimate)
{
	double widest, left;

	if (!(estimate->bytes > 0) || intervals->is_hidden)
		return false;
	if (has_least(intervals, estimate))
		return true;
	/*
	 * What confusion leaves to sampling of the interval's width: of the bytes, which end where unknown
	 * writers' are added, or of the share, which ends at 1.
	 */
	widest = log(COMM_RESOLVED_RATIO / (1 + unknown_part(estimate))) / 2 / intervals->z90;
	widest = fmax(0, widest);
	left = widest * widest;
	widest = fmax(0, log(COMM_RESOLVED_RATIO * estimate->share)) / intervals->z90;
	left = fmax(left, widest * widest - others_variance(intervals, estimate)) -
	       confusion(intervals->model, estimate);
	return left > 0 &&
	       sampling_cv2(intervals, estimate, intervals->z90, intervals->t90) <= expm1(left) &&
	       comm_blocks_agree(intervals->blocks, &estimate->sums, COMM_RESOLVED_RATIO) &&
	       estimate->samples >= COMM_RESOLVED_SAMPLES &&
	       estimate->slices >= COMM_RESOLVED_SLICES;
}
