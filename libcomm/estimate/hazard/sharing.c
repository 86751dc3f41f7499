// SPDX-License-Identifier: GPL-2.0-or-later
#include "sharing.h"
#include "hash.h"
#include "terms.h"

#include <errno.h>
#include <stdlib.h>

enum {
	SHARING_BITS = 12, /* objects, and threads in them, share places beyond that */
};

static const float sharing_most = 4096; /* forget by halves from there on */
/* Before anything was seen, a datum is taken to have one writer. */
static const double sharing_prior = 4;
static const double sharing_cap = 0.98;

struct sharing_object {
	float seen, due;
};

struct sharing_thread {
	float lines, bursts;
};

struct comm_sharing {
	struct sharing_object object[1 << SHARING_BITS];
	struct sharing_thread thread[1 << SHARING_BITS];
};

int comm_sharing_create(struct comm_sharing **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_sharing_destroy(struct comm_sharing *sharing)
{
	free(sharing);
}

static uint32_t sharing_object_at(uint32_t object)
{
	return comm_hash_word(object) >> (64 - SHARING_BITS);
}

static uint32_t sharing_thread_at(uint32_t object, uint32_t thread)
{
	return comm_hash_mix(object, thread) & ((1 << SHARING_BITS) - 1);
}

void comm_sharing_wrote(struct comm_sharing *sharing, uint32_t object, uint32_t thread, bool first)
{
	struct sharing_thread *t = &sharing->thread[sharing_thread_at(object, thread)];

	t->lines += first;
	t->bursts++;
}

double comm_sharing_found(const struct comm_sharing *sharing, uint32_t object, uint32_t thread)
{
	const struct sharing_thread *t = &sharing->thread[sharing_thread_at(object, thread)];

	return t->bursts > t->lines ? 1 - t->lines / t->bursts : 0;
}

double comm_sharing_news(const struct comm_sharing *sharing, uint32_t object, uint32_t thread)
{
	return 1 - comm_sharing_found(sharing, object, thread);
}

void comm_sharing_learn(struct comm_sharing *sharing, uint32_t object, double seen, double due)
{
	struct sharing_object *o = &sharing->object[sharing_object_at(object)];

	o->seen += (float)seen;
	o->due += (float)due;
	if (o->due > sharing_most) {
		o->seen /= 2;
		o->due /= 2;
	}
}

double comm_sharing_share(const struct comm_sharing *sharing, uint32_t object)
{
	const struct sharing_object *o = &sharing->object[sharing_object_at(object)];
	double share = o->seen / (o->due + sharing_prior);

	if (comm_without(COMM_TERM_sharing))
		return 0;
	return share < sharing_cap ? share : sharing_cap;
}

double comm_sharing_chance(const struct comm_sharing *sharing, uint32_t object, uint32_t thread)
{
	double found = comm_sharing_found(sharing, object, thread);
	double share = comm_sharing_share(sharing, object);

	return share * (1 - found) / (1 - share * found);
}
