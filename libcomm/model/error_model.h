/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The error model of an estimator: how far its edges may be from the truth, by
 * what its sampling variance does not tell.  The estimator states it, its run
 * stores it, and the report makes intervals of it (interval.h).
 *
 * All zero: every access was counted, an edge has no interval.
 */
#ifndef COMM_ERROR_MODEL_H
#define COMM_ERROR_MODEL_H

#include <stdbool.h>

struct comm_error_model {
	/*
	 * What an edge's variance is multiplied by: that of the estimator is of
	 * the reader's bursts alone; 2 says that the writers were sampled as
	 * often, 1 that they were not sampled.
	 */
	double sampled_ends;
	/*
	 * What an access stands for errs by a common factor: the standard
	 * deviation of that factor's natural logarithm.  0.3 is a factor of 1.35.
	 */
	double factor_sd;
	/*
	 * Some of what a reader reads is put down to a wrong writer.  The
	 * standard deviation of the natural logarithm of an edge that is half of
	 * all its reader reads; of an edge beside n times as much it is n times
	 * that.
	 */
	double confusion_sd;
};

static inline bool comm_error_model_is_exact(const struct comm_error_model *model)
{
	return !(model->sampled_ends > 0) && !(model->factor_sd > 0) && !(model->confusion_sd > 0);
}

#endif
