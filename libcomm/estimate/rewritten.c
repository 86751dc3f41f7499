// SPDX-License-Identifier: GPL-2.0-or-later
#include "rewritten.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "census.h"
#include "hash.h"
#include "model.h"

enum { SLOTS = 1 << 12 };

struct rewritten_slot {
	uint32_t object, function;
	double bytes;			  /* of all words */
	double changed[COMM_CENSUS_LAGS]; /* of those that each look found changed */
};

struct comm_rewritten {
	comm_function_of_fn *function_of;
	const void *sites;
	struct rewritten_slot slot[SLOTS];
};

int comm_rewritten_create(comm_function_of_fn *function_of, const void *sites,
			  struct comm_rewritten **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->function_of = function_of;
	(*ret)->sites = sites;
	return 0;
}

void comm_rewritten_destroy(struct comm_rewritten *rewritten)
{
	free(rewritten);
}

/* A region or a caller makes sites of its own, of which a look knows nothing. */
static uint32_t function_at(const struct comm_rewritten *rewritten, uint32_t site)
{
	return rewritten->function_of ? rewritten->function_of(rewritten->sites, site) : site;
}

static size_t index_of(uint32_t object, uint32_t function)
{
	return comm_hash_mix(object, function) >> 32 & (SLOTS - 1);
}

void comm_rewritten_add(struct comm_rewritten *rewritten, const struct comm_word *word)
{
	uint32_t function = function_at(rewritten, word->site);
	struct rewritten_slot *slot = &rewritten->slot[index_of(word->object, function)];

	if (slot->object != word->object || slot->function != function)
		*slot = (struct rewritten_slot){.object = word->object, .function = function};
	slot->bytes += word->bytes;
	if (word->class >= COMM_CENSUS_CHANGED && word->class < COMM_CENSUS_QUIET)
		slot->changed[word->class - COMM_CENSUS_CHANGED] += word->bytes;
}

double comm_rewritten_share(const struct comm_rewritten *rewritten, uint32_t object, uint32_t site,
			    uint64_t age_ns)
{
	uint32_t function = function_at(rewritten, site);
	const struct rewritten_slot *slot = &rewritten->slot[index_of(object, function)];
	double changed = 0;

	if (slot->object != object || slot->function != function || !(slot->bytes > 0))
		return 0;
	for (int i = 0; i < COMM_CENSUS_LAGS && comm_census_lag_ns[i] <= age_ns; i++)
		changed += slot->changed[i];
	return changed / slot->bytes;
}

void comm_rewritten_doubt(const struct comm_rewritten *rewritten, uint32_t object, uint32_t site,
			  uint64_t age_ns, double chance, struct comm_doubts *doubts)
{
	float doubt = (float)(chance * comm_rewritten_share(rewritten, object, site, age_ns));

	if (comm_without(COMM_TERM_rewritten))
		return;
	doubts->thread = fmaxf(doubts->thread, doubt);
	doubts->role = fmaxf(doubts->role, doubt);
	doubts->side = fmaxf(doubts->side, doubt);
	doubts->code = fmaxf(doubts->code, doubt);
}
