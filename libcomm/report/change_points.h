/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change points of a sequence: where what its elements are drawn from changes.  Given are the
 * elements' distances from each other, no more; what they are is the caller's.
 *
 * The hierarchical method of E-Divisive (Matteson and James, A nonparametric approach for
 * multiple change point analysis of multivariate data, JASA 109, 2014): a piece is cut where the
 * energy distance between the elements before and those after is largest, if fewer than alpha
 * of its permutations have as large a one; then both parts likewise.  Of a steady sequence,
 * whose elements are exchangeable, alpha is how often it is cut at all.  Elements that depend on
 * the ones before them are not: what drifts is cut, too.
 */
#ifndef COMM_CHANGE_POINTS_H
#define COMM_CHANGE_POINTS_H

#include <stddef.h>

enum {
	COMM_CHANGE_ELEMENTS = 64, /* most of a sequence */
	/* Least of a piece: of fewer no permutation test can tell anything. */
	COMM_CHANGE_LEAST = 3,
};

/*
 * distance has n rows of n; n is COMM_CHANGE_ELEMENTS at most.  Gives the first element of each
 * piece but the first one, in order, and returns how many: most at most.  Deterministic.
 */
size_t comm_change_points(const double *distance, size_t n, double alpha, size_t most,
			  size_t *ret_first);

#endif
