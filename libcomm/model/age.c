// SPDX-License-Identifier: GPL-2.0-or-later
#include "age.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Below it each whole number is a double. */
#define AGE_COUNTED_MAX 0x1p53

enum {
	AGE_FIRST_NS = 1000,
	AGE_FOURS = 11, /* bins that are four times as long as the one before, or the first */
	AGE_UNITS = 255,
	AGE_COUNTED =
		255, /* in place of a bin: the frames' bytes follow behind the next octet, as they are */
	AGE_COUNTED_BYTES = 2 + COMM_AGES_BACK * sizeof(uint64_t),
};

_Static_assert((int)AGE_COUNTED_BYTES <= (int)COMM_AGES_PACKED, "room for what was counted");

uint64_t comm_age_first_ns(uint32_t bin)
{
	if (!bin)
		return 0;
	if (bin <= AGE_FOURS)
		return (uint64_t)AGE_FIRST_NS << 2 * (bin - 1);
	return (uint64_t)AGE_FIRST_NS << (2 * (AGE_FOURS - 1) + bin - AGE_FOURS);
}

uint32_t comm_age_bin(uint64_t age_ns)
{
	uint32_t bin = 0;

	while (bin + 1 < COMM_AGES && age_ns >= comm_age_first_ns(bin + 1))
		bin++;
	return bin;
}

struct comm_ages comm_ages_of(uint64_t age_ns, const struct comm_frame_at *at)
{
	struct comm_ages ages = {0};

	ages.bytes[comm_age_bin(age_ns)] = 1;
	if (at->began_ns > 0)
		ages.back[((double)age_ns > (double)at->began_ns) +
			  ((double)age_ns > (double)at->before_ns)] = 1;
	return ages;
}

void comm_ages_add(struct comm_ages *ages, const struct comm_ages *other, double weight)
{
	for (int i = 0; i < COMM_AGES; i++)
		ages->bytes[i] += (float)(weight * other->bytes[i]);
	for (int i = 0; i < COMM_AGES_BACK; i++)
		ages->back[i] += weight * other->back[i];
}

void comm_ages_scale(struct comm_ages *ages, double factor)
{
	/* Of next to no bytes the reciprocal is no float. */
	for (int i = 0; i < COMM_AGES; i++)
		ages->bytes[i] = (float)(factor * ages->bytes[i]);
	for (int i = 0; i < COMM_AGES_BACK; i++)
		ages->back[i] *= factor;
}

double comm_ages_sum(const struct comm_ages *ages)
{
	double sum = 0;

	for (int i = 0; i < COMM_AGES; i++)
		sum += ages->bytes[i];
	return sum;
}

/* 0: that is not what they are. */
static size_t pack_counted(const struct comm_ages *ages, double bytes, uint8_t *ret)
{
	double sum = 0;

	for (int i = 0; i < COMM_AGES_BACK; i++) {
		double part = ages->back[i];

		if (!(part >= 0 && part <= bytes) || part != floor(part))
			return 0;
		sum += part;
	}
	/* Where all is of one frame its share says so, too. */
	if (!(sum > 0 && sum <= bytes && bytes < AGE_COUNTED_MAX) || bytes != floor(bytes) ||
	    comm_ages_sum(ages) > 0 || ages->back[0] == bytes || ages->back[1] == bytes ||
	    ages->back[2] == bytes)
		return 0;
	ret[0] = AGE_COUNTED;
	ret[1] = 0;
	for (int i = 0; i < COMM_AGES_BACK; i++) {
		uint64_t part = (uint64_t)ages->back[i];

		memcpy(ret + 2 + i * sizeof(part), &part, sizeof(part));
	}
	return AGE_COUNTED_BYTES;
}

static bool unpack_counted(const uint8_t *packed, size_t n, double bytes, struct comm_ages *ret)
{
	uint64_t part[COMM_AGES_BACK];
	double sum = 0;

	if (n != AGE_COUNTED_BYTES || packed[0] != AGE_COUNTED)
		return false;
	memcpy(part, packed + 2, sizeof(part));
	for (int i = 0; i < COMM_AGES_BACK; i++)
		sum += (double)part[i];
	for (int i = 0; i < COMM_AGES_BACK && sum <= bytes; i++)
		ret->back[i] = (double)part[i];
	return true;
}

/* Rounds the sums, not the shares: else many small ones would all be lost. */
static size_t pack(const double *part, int n_parts, int first, double bytes, uint8_t *ret)
{
	double sum = 0;
	long before = 0;
	size_t n = 0;

	for (int i = 0; i < n_parts && bytes > 0; i++) {
		long units;

		if (part[i] > 0)
			sum += part[i];
		units = lround(fmin(sum / bytes, 1) * AGE_UNITS);
		if (units == before)
			continue;
		ret[n++] = (uint8_t)(first + i);
		ret[n++] = (uint8_t)(units - before);
		before = units;
	}
	return n;
}

size_t comm_ages_pack(const struct comm_ages *ages, double bytes,
		      uint8_t ret_packed[COMM_AGES_PACKED])
{
	size_t n = pack_counted(ages, bytes, ret_packed);
	double part[COMM_AGES];

	if (n)
		return n;
	for (int i = 0; i < COMM_AGES; i++)
		part[i] = ages->bytes[i];
	n = pack(part, COMM_AGES, 0, bytes, ret_packed);
	return n + pack(ages->back, COMM_AGES_BACK, COMM_AGES, bytes, ret_packed + n);
}

void comm_ages_unpack(const uint8_t *packed, size_t n, double bytes, struct comm_ages *ret)
{
	unsigned int units[2] = {0}; /* of time, and of frames */

	memset(ret, 0, sizeof(*ret));
	if (unpack_counted(packed, n, bytes, ret))
		return;
	for (size_t i = 0; i + 1 < n && i < COMM_AGES_PACKED; i += 2) {
		bool is_back = packed[i] >= COMM_AGES;
		double part = bytes * packed[i + 1] / AGE_UNITS;

		units[is_back] += packed[i + 1];
		if (packed[i] >= COMM_AGES + COMM_AGES_BACK || units[is_back] > AGE_UNITS)
			return;
		if (is_back)
			ret->back[packed[i] - COMM_AGES] += part;
		else
			ret->bytes[packed[i]] += (float)part;
	}
}
