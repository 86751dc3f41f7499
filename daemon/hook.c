// SPDX-License-Identifier: GPL-2.0-or-later
#include "hook.h"

#include <math.h>

/* Parts of the budget. */
static const double share[COMM_HOOKS] = {
	[COMM_HOOK_NAMES] = 0.1,
};
static const double BURST_S = 0.5; /* so much of the whole budget beyond its part is let pass */
static const double TRIAL_SHARE =
	0.05; /* what that tick took, of what is allowed while it is away */
static const double AWAY_S = 10, AWAY_MOST_S = 320;

void comm_hook_tick(struct comm_hook_state *hook, enum comm_hook kind, uint64_t now_ns, double dt,
		    double spent_ns, double allowed)
{
	double away_s = spent_ns / (TRIAL_SHARE * allowed);

	if (hook->off_ns) {
		if (now_ns >= hook->again_ns)
			*hook = (struct comm_hook_state){0};
		return;
	}
	hook->over_ns = fmax(hook->over_ns + spent_ns - share[kind] * allowed * dt, 0);
	if (hook->over_ns <= BURST_S * allowed)
		return;
	away_s = fmin(fmax(away_s, AWAY_S), AWAY_MOST_S);
	hook->off_ns = now_ns;
	hook->again_ns = now_ns + (uint64_t)(away_s * 1e9);
}

void comm_hook_retry(struct comm_hook_state *hook)
{
	hook->again_ns = 0;
}

void comm_hook_skip(struct comm_hook_state *hook, uint64_t ns)
{
	if (!hook->off_ns)
		return;
	hook->off_ns += ns;
	hook->again_ns += ns;
}
