// SPDX-License-Identifier: GPL-2.0-or-later
#include "code_pairs.h"

#include "hash.h"
#include "model.h"

#include <errno.h>
#include <stdlib.h>

enum { CODE_PAIRS_SLOTS = 1 << 16 /* the latest of a slot's pairs stays */ };

struct code_pair_slot {
	uint64_t key;
	float met, expected;
};

struct comm_code_pairs {
	comm_function_of_fn *function_of;
	const void *sites;
	struct code_pair_slot slot[CODE_PAIRS_SLOTS];
};

int comm_code_pairs_create(comm_function_of_fn *function_of, const void *sites,
			   struct comm_code_pairs **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->function_of = function_of;
	(*ret)->sites = sites;
	return 0;
}

void comm_code_pairs_destroy(struct comm_code_pairs *pairs)
{
	free(pairs);
}

static struct code_pair_slot *code_pair_slot(struct comm_code_pairs *pairs,
					     const struct comm_code_pair *pair)
{
	uint32_t src = pairs->function_of ? pairs->function_of(pairs->sites, pair->src_site)
					  : pair->src_site;
	uint64_t key = comm_hash_mix(comm_hash_mix(src, pair->dst_site), pair->object) | 1;
	struct code_pair_slot *slot = &pairs->slot[key >> 32 & (CODE_PAIRS_SLOTS - 1)];

	if (slot->key != key)
		*slot = (struct code_pair_slot){.key = key};
	return slot;
}

void comm_code_pairs_met(struct comm_code_pairs *pairs, const struct comm_code_pair *pair,
			 double share)
{
	code_pair_slot(pairs, pair)->met += (float)share;
}

bool comm_code_pairs_likely(struct comm_code_pairs *pairs, const struct comm_code_pair *pair,
			    double expected)
{
	struct code_pair_slot *slot = code_pair_slot(pairs, pair);

	slot->expected += (float)expected;
	return comm_without(COMM_TERM_met) ||
	       slot->expected <= comm_parameter(COMM_P_unmet) + slot->met;
}

bool comm_code_pairs_known(struct comm_code_pairs *pairs, const struct comm_code_pair *pair)
{
	return comm_without(COMM_TERM_met) ||
	       code_pair_slot(pairs, pair)->met >= comm_parameter(COMM_P_half);
}
