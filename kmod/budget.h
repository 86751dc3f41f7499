/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the handler costs, per CPU and context, and what it may cost.  Every
 * handler runs between cp_budget_enter() and cp_budget_leave().  The cap holds
 * by itself: a window whose time is spent ends sampling until the next one,
 * whatever user space does or fails to do.
 */
#ifndef CP_BUDGET_H
#define CP_BUDGET_H

#include <linux/types.h>

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
	bool capped;
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

/* False: the cap is reached, do nothing but cp_budget_leave(). */
bool cp_budget_enter(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 now_ns);
void cp_budget_leave(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 start_ns,
		     u64 end_ns);
/* The period that the next sample should have. */
u64 cp_budget_period(struct cp_meter *meter, u64 period, u64 min_period, u32 step, bool jitter);

#endif
