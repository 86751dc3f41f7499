/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks: BPF programs that run as often as others make something happen, and not as often as samples are taken.  Each
 * has a part of the budget, and is taken away for a while where it costs more.  Pure, like governor.h, its only user.
 */
#ifndef COMMD_HOOK_H
#define COMMD_HOOK_H

#include <stdint.h>

enum comm_hook {
	COMM_HOOK_NAMES, /* threads that rename themselves */
	COMM_HOOKS,
};

struct comm_hook_state {
	double over_ns;	   /* spent beyond its part, not worked off */
	uint64_t off_ns;   /* since when it is away; 0: it is there */
	uint64_t again_ns; /* when it is tried again */
};

/*
 * After a tick of dt seconds in which the hook took spent_ns; allowed: the budget, ns per second.  A short burst is let
 * pass.  The dearer the tick was that ended it, the later it is tried again.
 */
void comm_hook_tick(struct comm_hook_state *hook, enum comm_hook kind, uint64_t now_ns, double dt,
		    double spent_ns, double allowed);

/* The budget has grown: what was too dear is tried at the next tick. */
void comm_hook_retry(struct comm_hook_state *hook);

/* The ns up to now count for nothing. */
void comm_hook_skip(struct comm_hook_state *hook, uint64_t ns);

#endif
