// SPDX-License-Identifier: GPL-2.0-only
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>
#endif

#include "budget.h"
#include "cap.h"

enum {
	/* How much longer the period is after a first refusal in a row. */
	STRETCH_FIRST = 16,
	STRETCH_MORE = 4, /* and after each further one */
	STRETCH_MOST = 1 << 14,
};

static const u64 PERIOD_MOST = S64_MAX / 4;

int cp_budget_rule(const struct cp_budget *from, struct cp_budget_rule *ret)
{
	u32 cap = from->cap_ppm ?: CP_DEFAULT_CAP_PPM;
	u32 window_ms = from->window_ms ?: 100;

	if (from->flags || cap > CP_MAX_CAP_PPM || from->target_ppm > cap || window_ms > 10000 ||
	    from->entry_ns > 100000)
		return -EINVAL;
	ret->window_ns = (u64)window_ms * NSEC_PER_MSEC;
	ret->target_ns = (u64)window_ms * from->target_ppm;
	ret->cap_ns = (u64)window_ms * cap;
	ret->entry_ns = from->entry_ns;
	return 0;
}

void cp_meter_init(struct cp_meter *meter, u32 seed)
{
	memset(meter, 0, sizeof(*meter));
	meter->seed = seed | 1;
	cp_meter_begin(meter);
}

void cp_meter_begin(struct cp_meter *meter)
{
	meter->scale = CP_SCALE_ONE;
	meter->stretch = 1;
	meter->spent_ns = 0;
}

/*
 * The window is over: move the period by what was spent, at most by a factor of
 * four, so that one odd window does not silence or flood the next.
 */
static void cp_budget_adapt(const struct cp_budget_rule *rule, struct cp_meter *meter,
			    u64 elapsed_ns)
{
	/* elapsed_ns is not less than window_ns, so that this fits. */
	u64 spent = mul_u64_u64_div_u64(meter->spent_ns, rule->window_ns, elapsed_ns);
	u64 scale = meter->scale;
	u64 next;

	spent = clamp_t(u64, spent, rule->target_ns / 4, rule->target_ns * 4);
	next = mul_u64_u64_div_u64(scale, spent, rule->target_ns);
	meter->scale = clamp_t(u64, next, 16, CP_SCALE_MAX);
}

bool cp_budget_enter(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 now_ns)
{
	u64 elapsed_ns = now_ns - meter->window_start_ns;

	meter->interrupts++;
	if (elapsed_ns >= rule->window_ns) {
		/* A window in which nothing ran, such as the first, teaches nothing. */
		if (rule->target_ns && meter->spent_ns && elapsed_ns < 4 * rule->window_ns)
			cp_budget_adapt(rule, meter, elapsed_ns);
		meter->window_start_ns = now_ns;
		meter->spent_ns = 0;
		meter->stretch = 1;
	}
	if (meter->spent_ns < rule->cap_ns && cp_cap_allows(now_ns)) {
		meter->stretch = 1;
		return true;
	}
	/*
	 * A refused handler still costs its interrupt.  Each one makes the next rarer, so
	 * that few come in a window however short the period.
	 */
	meter->stretch = meter->stretch <= 1
				 ? STRETCH_FIRST
				 : min_t(u32, meter->stretch * STRETCH_MORE, STRETCH_MOST);
	return false;
}

static unsigned int cp_budget_bucket(u64 ns)
{
	unsigned int log = ns < 16 ? 4 : ilog2(ns);
	unsigned int i = (log - 4) * 4 + (ns < 16 ? 0 : ns >> (log - 2) & 3);

	return min_t(unsigned int, i, CP_COST_BUCKETS - 1);
}

void cp_budget_leave(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 start_ns,
		     u64 end_ns)
{
	/* The fast clock may step back by a little between NMI and IRQ. */
	u64 ns = end_ns > start_ns ? end_ns - start_ns : 0;
	u64 charge_ns = ns + max_t(u32, rule->entry_ns, cp_cap_entry_ns());

	cp_cap_charge(charge_ns);
	meter->spent_ns += charge_ns;
	meter->charged_ns += charge_ns;
	meter->handler_ns += ns;
	if (ns > meter->max_ns)
		meter->max_ns = ns;
	meter->cost[cp_budget_bucket(ns)]++;
}

u64 cp_budget_period(struct cp_meter *meter, u64 period, u64 min_period, u32 step, bool jitter)
{
	u64 factor = (u64)meter->scale * meter->stretch; /* CP_SCALE_ONE is 1 */
	u64 next = period;

	if (factor != CP_SCALE_ONE)
		next = period > div64_u64(PERIOD_MOST, (factor >> 16) + 1)
			       ? PERIOD_MOST
			       : mul_u64_u64_shr(period, factor, 16);
	next = max_t(u64, next, min_period);
	if (jitter) {
		/* xorshift: fixed periods lock step with loops. */
		meter->seed ^= meter->seed << 13;
		meter->seed ^= meter->seed >> 17;
		meter->seed ^= meter->seed << 5;
		next = next - next / 8 + mul_u64_u32_shr(next / 4, meter->seed, 32);
	}
	if (step > 1)
		next = max_t(u64, next - next % step, step);
	return min_t(u64, next, PERIOD_MOST);
}
