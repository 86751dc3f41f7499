// SPDX-License-Identifier: GPL-2.0-or-later
#include "strand.h"

#include <math.h>
#include <string.h>

void comm_strands_add(struct comm_strands *strands, const struct comm_strands *other, size_t first)
{
	for (size_t i = 0; i < COMM_STRANDS; i++)
		strands->sum[(first + i) % COMM_STRANDS] += other->sum[i];
}

bool comm_strands_is_empty(const struct comm_strands *strands)
{
	for (size_t i = 0; i < COMM_STRANDS; i++)
		if (strands->sum[i] > 0)
			return false;
	return true;
}

/* Little-endian, as stores go from host to host. */
void comm_strands_pack(const struct comm_strands *strands, uint8_t ret_packed[COMM_STRANDS_PACKED])
{
	uint32_t bits;

	for (size_t i = 0; i < COMM_STRANDS_PACKED; i++) {
		memcpy(&bits, &strands->sum[i / sizeof(bits)], sizeof(bits));
		ret_packed[i] = (uint8_t)(bits >> 8 * (i % sizeof(bits)));
	}
}

bool comm_strands_unpack(const uint8_t packed[COMM_STRANDS_PACKED], double ret_share[COMM_STRANDS])
{
	double sum = 0;
	float part;

	for (size_t i = 0; i < COMM_STRANDS; i++) {
		uint32_t bits = 0;

		for (size_t j = 0; j < sizeof(bits); j++)
			bits |= (uint32_t)packed[sizeof(bits) * i + j] << 8 * j;
		memcpy(&part, &bits, sizeof(part));
		if (!(part >= 0) || !isfinite(part))
			return false;
		ret_share[i] = part;
		sum += part;
	}
	for (size_t i = 0; i < COMM_STRANDS && sum > 0; i++)
		ret_share[i] /= sum;
	return sum > 0;
}
