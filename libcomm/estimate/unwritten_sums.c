// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwritten_sums.h"

#include <math.h>

/* A table that grows has a row and two slots for each place (keyed.h). */
enum { SUMS_END_BYTES = sizeof(struct comm_unwritten_end) + 2 * sizeof(uint32_t), SUMS_MIN = 1024 };

void comm_unwritten_sums_init(struct comm_unwritten_sums *sums, uint64_t memory_bytes)
{
	*sums = (struct comm_unwritten_sums){.n_max = SUMS_MIN};
	while (sums->n_max < 1u << 20 && 2 * sums->n_max * SUMS_END_BYTES <= memory_bytes)
		sums->n_max *= 2;
}

void comm_unwritten_sums_deinit(struct comm_unwritten_sums *sums)
{
	comm_unwritten_ends_deinit(&sums->ends);
}

/* What was taken stays until something is added. */
static void forget_taken(struct comm_unwritten_sums *sums)
{
	if (!sums->taken)
		return;
	sums->taken = false;
	sums->sum = (struct comm_unwritten){0};
	comm_unwritten_ends_clear(&sums->ends);
}

void comm_unwritten_sums_add(struct comm_unwritten_sums *sums, const struct comm_unwritten_end *end)
{
	forget_taken(sums);
	if (!(end->bytes > 0))
		return;
	sums->sum.bytes += end->bytes;
	sums->sum.first_bytes += end->first_bytes;
	if (sums->ends.n == sums->n_max)
		comm_unwritten_ends_fold(&sums->ends, sums->n_max / 2, &sums->folded);
	sums->folded += comm_unwritten_ends_add(&sums->ends, end) != 0;
}

void comm_unwritten_sums_poll(struct comm_unwritten_sums *sums,
			      const struct comm_unwritten_end *end)
{
	comm_unwritten_sums_add(sums, end);
	sums->sum.polled_bytes += fmax(0, end->bytes);
}

void comm_unwritten_sums_take(struct comm_unwritten_sums *sums, struct comm_unwritten *ret)
{
	forget_taken(sums);
	*ret = sums->sum;
	ret->end = sums->ends.end;
	ret->n_ends = sums->ends.n;
	sums->taken = true;
}
