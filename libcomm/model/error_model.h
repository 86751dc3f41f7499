/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The error model of an estimator: errors of its edges that their sampling
 * variance does not include.  The estimator states the model, the store keeps it
 * with the run, and the report makes intervals of it (interval.h).
 *
 * All zero: every access was counted, an edge has no interval.
 */
#ifndef COMM_ERROR_MODEL_H
#define COMM_ERROR_MODEL_H

#include <stdbool.h>

struct comm_error_model {
	/*
	 * Multiplies an edge's variance, which covers the sampling of the reader's
	 * bursts alone: 2 when writers were sampled as often as readers, 1 when
	 * writers were not sampled.
	 */
	double sampled_ends;
	/*
	 * The weight of accesses is wrong by a factor common to all: the standard
	 * deviation of that factor's natural logarithm.  0.3 is a factor of 1.35.
	 */
	double factor_sd;
	/*
	 * Some reads are attributed to a wrong writer.  The standard deviation of
	 * the natural logarithm of an edge that has half of its reader's bytes;
	 * where the reader's other edges have n times the edge's bytes, it is n
	 * times that; bytes that the reading thread wrote itself count half.
	 */
	double confusion_sd;
	/*
	 * The same of an estimator that tells how unsure it is of each read's writer (doubt_bytes of
	 * edge.h): the standard deviation of the natural logarithm of an edge whose bytes are all in
	 * doubt; in proportion where a part is.  Stands in place of confusion_sd for edges; what is
	 * said of all reads goes by that (breakdown.c).
	 */
	double doubt_sd;
	/*
	 * What each edge errs by for itself, besides all that: the standard deviation of its natural
	 * logarithm.  Not kept with a run: the report's (query.c).
	 */
	double edge_sd;
};

static inline bool comm_error_model_is_exact(const struct comm_error_model *model)
{
	return !(model->sampled_ends > 0) && !(model->factor_sd > 0) &&
	       !(model->confusion_sd > 0) && !(model->doubt_sd > 0);
}

#endif
