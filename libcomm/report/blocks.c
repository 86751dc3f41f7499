// SPDX-License-Identifier: GPL-2.0-or-later
#include "blocks.h"

#include <math.h>

size_t comm_blocks_add(struct comm_blocks *blocks, double length)
{
	size_t at = blocks->next;

	blocks->next = (at + 1) % COMM_BLOCKS_MAX;
	if (at == blocks->n)
		blocks->n++;
	blocks->weight[at] += length > 0 ? length : 0;
	return at;
}

size_t comm_blocks_add_parts(struct comm_blocks *blocks, double length,
			     const double share[COMM_STRANDS], uint64_t parts)
{
	size_t first = blocks->next;

	for (size_t i = 0; i < COMM_STRANDS; i++)
		blocks->weight[(first + i) % COMM_BLOCKS_MAX] += length * share[i];
	blocks->next = (first + parts % COMM_BLOCKS_MAX) % COMM_BLOCKS_MAX;
	/* Until all blocks have a slice, the next is the first without one. */
	if (blocks->n < COMM_BLOCKS_MAX)
		blocks->n = parts < COMM_BLOCKS_MAX - first ? first + parts : COMM_BLOCKS_MAX;
	return first;
}

/*
 * With independent blocks of weights w that sum up to 1, the residuals x - w X have the
 * expected squares V w (1 - w), where V is the variance of X, the sum over all.
 */
double comm_blocks_variance(const struct comm_blocks *blocks, const struct comm_block_sums *sums,
			    const struct comm_block_sums *by)
{
	const double *weight = by ? by->sum : blocks->weight;
	double total = 0, whole = 0, squares = 0, share = 1;

	for (size_t i = 0; i < blocks->n; i++) {
		total += sums->sum[i];
		whole += weight[i];
	}
	if (blocks->n < COMM_BLOCKS_MIN || !(whole > 0))
		return -1;
	for (size_t i = 0; i < blocks->n; i++) {
		double w = weight[i] / whole, residual = sums->sum[i] - w * total;

		squares += residual * residual;
		share -= w * w;
	}
	/* One block has all of the weight: nothing can be compared. */
	return share > 1e-9 ? squares / share : -1;
}

bool comm_blocks_agree(const struct comm_blocks *blocks, const struct comm_block_sums *sums,
		       double ratio)
{
	double sum[2] = {0}, weight[2] = {0};

	for (size_t i = 0; i < blocks->n; i++) {
		sum[i % 2] += sums->sum[i];
		weight[i % 2] += blocks->weight[i];
	}
	return blocks->n >= COMM_BLOCKS_MIN && sum[0] * weight[1] <= ratio * sum[1] * weight[0] &&
	       sum[1] * weight[0] <= ratio * sum[0] * weight[1];
}

/* P(|T| < t) for n degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4. */
static double student(double t, size_t n)
{
	double angle = atan(t / sqrt(n)), c = cos(angle), sum = 0;
	double term = n % 2 ? c : 1;

	for (size_t i = n % 2 ? 3 : 2; i <= n; i += 2) {
		sum += term;
		term *= c * c * (i - 1) / i;
	}
	sum *= sin(angle);
	return n % 2 ? (angle + sum) * 2 / M_PI : sum;
}

double comm_blocks_t(const struct comm_blocks *blocks, double confidence)
{
	double low = 0, high = 1000;

	if (blocks->n < 2)
		return high;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (student(middle, blocks->n - 1) < confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
