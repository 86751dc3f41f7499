// SPDX-License-Identifier: GPL-2.0-or-later
#include "change_points.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "hash.h"

enum { PERMUTATIONS = 999 };

/* Sums of the first elements of each row of the distances of a piece, in some order. */
struct running_sums {
	double to[COMM_CHANGE_ELEMENTS][COMM_CHANGE_ELEMENTS + 1];
};

struct sequence {
	const double *distance;
	size_t n;
	double alpha;
	struct running_sums sums;
};

/* The distances of element i of a piece from those of from to to. */
static double between(const struct running_sums *sums, size_t i, size_t from, size_t to)
{
	return sums->to[i][to] - sums->to[i][from];
}

/*
 * The largest energy distance of a piece's first elements, up to *ret_at, from some of those that
 * follow: not from all, since a piece may have the like of its beginning again at its end.
 */
static double largest(struct sequence *sequence, const size_t *order, size_t n, size_t *ret_at)
{
	struct running_sums *sums = &sequence->sums;
	double most = -INFINITY, before = 0;

	for (size_t i = 0; i < n; i++) {
		const double *row = sequence->distance + order[i] * sequence->n;

		for (size_t j = 0; j < n; j++)
			sums->to[i][j + 1] = sums->to[i][j] + row[order[j]];
	}
	for (size_t at = 1; at + COMM_CHANGE_LEAST <= n; at++) {
		double cross = 0, after = 0;

		before += between(sums, at - 1, 0, at - 1);
		for (size_t end = at + 1; end <= n && at >= COMM_CHANGE_LEAST; end++) {
			double left = (double)at, right = (double)(end - at), energy;

			cross += between(sums, end - 1, 0, at);
			after += between(sums, end - 1, at, end - 1);
			if (end < at + COMM_CHANGE_LEAST)
				continue;
			energy = 2 * cross / (left * right) - 2 * before / (left * (left - 1)) -
				 2 * after / (right * (right - 1));
			energy *= left * right / (left + right);
			if (energy > most) {
				most = energy;
				*ret_at = at;
			}
		}
	}
	return most;
}

static void shuffle(size_t *order, size_t n, uint64_t *random)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = comm_hash_next(random) % i, kept = order[i - 1];

		order[i - 1] = order[j];
		order[j] = kept;
	}
}

/* Whether the piece is to be cut, and where. */
static bool find(struct sequence *sequence, size_t first, size_t n, size_t *ret_at)
{
	size_t order[COMM_CHANGE_ELEMENTS], at, as_large = 1;
	uint64_t random = first * COMM_CHANGE_ELEMENTS + n;
	double energy;

	if (n < 2 * COMM_CHANGE_LEAST)
		return false;
	for (size_t i = 0; i < n; i++)
		order[i] = first + i;
	energy = largest(sequence, order, n, ret_at);
	for (int i = 0; i < PERMUTATIONS && as_large <= sequence->alpha * (PERMUTATIONS + 1); i++) {
		shuffle(order, n, &random);
		/* Sums in another order differ in their last digits. */
		as_large += largest(sequence, order, n, &at) >= energy - 1e-9 * fabs(energy);
	}
	return as_large <= sequence->alpha * (PERMUTATIONS + 1);
}

static void cut(struct sequence *sequence, size_t first, size_t n, size_t most, size_t *ret_n,
		size_t *ret_first)
{
	size_t at = 0;

	if (*ret_n == most || !find(sequence, first, n, &at))
		return;
	cut(sequence, first, at, most, ret_n, ret_first);
	if (*ret_n < most)
		ret_first[(*ret_n)++] = first + at;
	cut(sequence, first + at, n - at, most, ret_n, ret_first);
}

size_t comm_change_points(const double *distance, size_t n, double alpha, size_t most,
			  size_t *ret_first)
{
	struct sequence sequence = {.distance = distance, .n = n, .alpha = alpha};
	size_t n_cuts = 0;

	if (n <= COMM_CHANGE_ELEMENTS)
		cut(&sequence, 0, n, most, &n_cuts, ret_first);
	return n_cuts;
}
