// SPDX-License-Identifier: GPL-2.0-or-later
#include "trust.h"

uint32_t comm_trust_label(const struct comm_nest_view *view)
{
	uint32_t label = 0;

	for (uint32_t i = 0; i < view->n; i++) {
		if (!(view->voter[i].votes[0] > 0))
			continue;
		if (label)
			return 0;
		label = view->voter[i].thread;
	}
	return label;
}

void comm_trust_learn(struct comm_trust *trust, uint32_t level, double crossing, double right)
{
	trust->crossing[level] += crossing;
	trust->right[level] += right;
}

/* Votes for the datum itself, of level 0, are what labels are made of. */
bool comm_trust_in(const struct comm_trust *trust, uint32_t level)
{
	return !level || trust->right[level] >=
				 OWNERSHIP_TRUST * (trust->crossing[level] + OWNERSHIP_TRUST_WORTH);
}
