// SPDX-License-Identifier: GPL-2.0-or-later
#include "rewritten.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "census.h"
#include "hash.h"

enum { PLACES = 1 << 12 };

struct rewritten_place {
	uint32_t object, site;
	double bytes;			  /* of all words */
	double changed[COMM_CENSUS_LAGS]; /* of those that each look found changed */
};

struct comm_rewritten {
	struct rewritten_place place[PLACES];
};

int comm_rewritten_create(struct comm_rewritten **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_rewritten_destroy(struct comm_rewritten *rewritten)
{
	free(rewritten);
}

static size_t index_of(uint32_t object, uint32_t site)
{
	return comm_hash_mix(object, site) >> 32 & (PLACES - 1);
}

void comm_rewritten_add(struct comm_rewritten *rewritten, const struct comm_word *word)
{
	struct rewritten_place *place = &rewritten->place[index_of(word->object, word->site)];

	if (place->object != word->object || place->site != word->site)
		*place = (struct rewritten_place){.object = word->object, .site = word->site};
	place->bytes += word->bytes;
	if (word->class >= COMM_CENSUS_CHANGED && word->class < COMM_CENSUS_QUIET)
		place->changed[word->class - COMM_CENSUS_CHANGED] += word->bytes;
}

double comm_rewritten_share(const struct comm_rewritten *rewritten, uint32_t object, uint32_t site,
			    uint64_t age_ns)
{
	const struct rewritten_place *place = &rewritten->place[index_of(object, site)];
	double changed = 0;

	if (place->object != object || place->site != site || !(place->bytes > 0))
		return 0;
	for (int i = 0; i < COMM_CENSUS_LAGS && comm_census_lag_ns[i] <= age_ns; i++)
		changed += place->changed[i];
	return changed / place->bytes;
}

void comm_rewritten_doubt(const struct comm_rewritten *rewritten, uint32_t object, uint32_t site,
			  uint64_t age_ns, struct comm_doubts *doubts)
{
	float doubt = (float)comm_rewritten_share(rewritten, object, site, age_ns);

	doubts->thread = fmaxf(doubts->thread, doubt);
	doubts->role = fmaxf(doubts->role, doubt);
	doubts->side = fmaxf(doubts->side, doubt);
	doubts->code = fmaxf(doubts->code, doubt);
}
