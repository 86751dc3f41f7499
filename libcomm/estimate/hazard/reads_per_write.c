// SPDX-License-Identifier: GPL-2.0-or-later
#include "reads_per_write.h"
#include "hash.h"
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	READS_PER_WRITE_BITS = 12,	 /* readers and objects share slots beyond that */
	READS_PER_WRITE_ALL = INT32_MAX, /* readers of an object */
};

static const float reads_per_write_bursts = 4096; /* forget by halves from there on */

struct comm_reads_per_write {
	struct comm_reads_per_write_count count[1 << READS_PER_WRITE_BITS];
};

int comm_reads_per_write_create(struct comm_reads_per_write **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_reads_per_write_destroy(struct comm_reads_per_write *reads_per_write)
{
	free(reads_per_write);
}

static uint32_t reads_per_write_slot(uint32_t reader, uint32_t object)
{
	return comm_hash_mix(object, reader) & ((1 << READS_PER_WRITE_BITS) - 1);
}

static void reads_per_write_add(struct comm_reads_per_write_count *c,
				const struct comm_reads_per_write_count *around, double times)
{
	c->reads += (float)(times * around->reads);
	c->writes += (float)(times * around->writes);
	c->n_reads += (float)(times * around->n_reads);
	c->n_writes += (float)(times * around->n_writes);
}

void comm_reads_per_write_add(struct comm_reads_per_write *reads_per_write, uint32_t reader,
			      uint32_t object, const struct comm_reads_per_write_count *around)
{
	const uint32_t readers[] = {reader, READS_PER_WRITE_ALL};

	for (int i = 0; i < 2; i++) {
		struct comm_reads_per_write_count *c =
			&reads_per_write->count[reads_per_write_slot(readers[i], object)];

		reads_per_write_add(c, around, 1);
		if (c->n_reads > reads_per_write_bursts || c->n_writes > reads_per_write_bursts)
			reads_per_write_add(c, c, -0.5);
	}
}

struct comm_reads_per_write_count
comm_reads_per_write_of(const struct comm_reads_per_write *reads_per_write, uint32_t reader,
			uint32_t object)
{
	const struct comm_reads_per_write_count *all =
		&reads_per_write->count[reads_per_write_slot(READS_PER_WRITE_ALL, object)];
	struct comm_reads_per_write_count ret =
		reads_per_write->count[reads_per_write_slot(reader, object)];
	double most = fmax(all->n_writes, all->n_reads);

	if (most > 0)
		reads_per_write_add(&ret, all, fmin(1, comm_parameter(COMM_P_ratio_prior) / most));
	return ret;
}

double comm_reads_per_write_ratio(const struct comm_reads_per_write_count *count)
{
	return count->writes > 0 && count->reads > 0 ? count->reads / count->writes : 0;
}

double comm_reads_per_write_once(const struct comm_reads_per_write_count *count)
{
	double ratio = comm_reads_per_write_ratio(count), gap, variance, once,
	       sd = comm_parameter(COMM_P_ratio_sd);

	if (ratio <= 0 || count->n_writes < 1 || count->n_reads < 1)
		return 0;
	gap = log(ratio);
	variance = sd * sd + 1 / count->n_writes + 1 / count->n_reads;
	once = exp(-gap * gap / (2 * variance)) / sqrt(2 * M_PI * variance);
	return once / (once + 1 - comm_parameter(COMM_P_likely));
}
