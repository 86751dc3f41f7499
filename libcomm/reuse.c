// SPDX-License-Identifier: GPL-2.0-or-later
#include "reuse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	REUSE_BITS = 12, /* readers and objects share places beyond that */
};

static const float reuse_bursts = 4096; /* forget by halves from there on */
static const double reuse_sd = 0.35;	/* of the log of what the model of time is wrong by */
static const double reuse_else = 0.1;	/* density of other ratios, per unit of log */

struct comm_reuse {
	struct comm_reuse_count count[1 << REUSE_BITS];
};

int comm_reuse_create(struct comm_reuse **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_reuse_destroy(struct comm_reuse *reuse)
{
	free(reuse);
}

static uint32_t reuse_place(uint32_t reader, uint32_t object)
{
	return (object * 0x9e3779b1u ^ reader) * 0x85ebca6bu >> (32 - REUSE_BITS);
}

void comm_reuse_add(struct comm_reuse *reuse, uint32_t reader, uint32_t object,
		    const struct comm_reuse_count *around)
{
	struct comm_reuse_count *c = &reuse->count[reuse_place(reader, object)];

	c->reads += around->reads;
	c->writes += around->writes;
	c->n_reads += around->n_reads;
	c->n_writes += around->n_writes;
	if (c->n_reads > reuse_bursts || c->n_writes > reuse_bursts) {
		c->reads /= 2;
		c->writes /= 2;
		c->n_reads /= 2;
		c->n_writes /= 2;
	}
}

const struct comm_reuse_count *comm_reuse_of(const struct comm_reuse *reuse, uint32_t reader,
					     uint32_t object)
{
	return &reuse->count[reuse_place(reader, object)];
}

double comm_reuse_ratio(const struct comm_reuse_count *count)
{
	return count->writes > 0 && count->reads > 0 ? count->reads / count->writes : 0;
}

double comm_reuse_once(const struct comm_reuse_count *count)
{
	double ratio = comm_reuse_ratio(count), gap, variance, once;

	if (ratio <= 0 || count->n_writes < 1 || count->n_reads < 1)
		return 0;
	gap = log(ratio);
	variance = reuse_sd * reuse_sd + 1 / count->n_writes + 1 / count->n_reads;
	once = exp(-gap * gap / (2 * variance)) / sqrt(2 * M_PI * variance);
	return once / (once + reuse_else);
}
