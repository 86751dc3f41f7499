/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a session's handlers cost, per CPU and context, and what they may cost.  Every
 * handler (an event's interrupt, an IPI, a trap of a watchpoint) runs between
 * cp_budget_enter() and cp_budget_leave(), which charge the session's own rule and
 * the module's cap (cap.h).  Both hold by themselves: a window whose time is spent
 * ends sampling until the next one, whatever user space does or fails to do.  One
 * context of one CPU uses a meter, with interrupts off.  Builds in user space for its
 * test.
 */
#ifndef CP_BUDGET_H
#define CP_BUDGET_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "budget_user.h"
#endif

#include "commprof.h"

enum {
	CP_SCALE_ONE = 1 << 16, /* factor on every source's period */
	CP_SCALE_MAX = 1 << 30,
};

struct cp_budget_rule {
	u64 window_ns;
	u64 target_ns; /* per window; 0: the period is fixed */
	u64 cap_ns;    /* per window */
	u32 entry_ns;
};

struct cp_meter {
	u64 window_start_ns;
	u64 spent_ns; /* in this window, entry_ns included */
	u32 stretch;  /* of the period while handlers are refused; 1: they are not */
	u32 scale;
	u32 seed; /* of the jitter */
	u64 interrupts;
	u64 handler_ns;
	u64 charged_ns;
	u64 max_ns;
	u64 cost[CP_COST_BUCKETS];
};

int cp_budget_rule(const struct cp_budget *from, struct cp_budget_rule *ret);
void cp_meter_init(struct cp_meter *meter, u32 seed);
/* Forgets a spent window and an adapted period, not what was counted. */
void cp_meter_begin(struct cp_meter *meter);

/* False: a cap is reached, do nothing but cp_budget_leave(). */
bool cp_budget_enter(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 now_ns);
void cp_budget_leave(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 start_ns,
		     u64 end_ns);
/* The period that the next sample should have. */
u64 cp_budget_period(struct cp_meter *meter, u64 period, u64 min_period, u32 step, bool jitter);

#endif
