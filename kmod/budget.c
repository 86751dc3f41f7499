// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "budget.h"

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
	meter->scale = CP_SCALE_ONE;
	meter->seed = seed | 1;
}

/*
 * The window is over: move the period by what was spent, at most by a factor of
 * four, so that one odd window does not silence or flood the next.
 */
static void adapt(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 elapsed_ns)
{
	u64 spent = div64_u64(meter->spent_ns * rule->window_ns, elapsed_ns ?: 1);
	u64 scale = meter->scale;
	u64 next = div64_u64(scale * spent, rule->target_ns);

	next = clamp_t(u64, next, scale / 4, scale * 4);
	meter->scale = clamp_t(u64, next, 16, CP_SCALE_MAX);
}

bool cp_budget_enter(const struct cp_budget_rule *rule, struct cp_meter *meter, u64 now_ns)
{
	u64 elapsed_ns = now_ns - meter->window_start_ns;

	meter->interrupts++;
	if (elapsed_ns >= rule->window_ns) {
		/* A window in which nothing ran, such as the first, teaches nothing. */
		if (rule->target_ns && meter->spent_ns && elapsed_ns < 4 * rule->window_ns)
			adapt(rule, meter, elapsed_ns);
		meter->window_start_ns = now_ns;
		meter->spent_ns = 0;
		meter->capped = false;
	}
	if (meter->spent_ns >= rule->cap_ns)
		meter->capped = true;
	return !meter->capped;
}

static unsigned int bucket(u64 ns)
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

	meter->spent_ns += ns + rule->entry_ns;
	meter->charged_ns += ns + rule->entry_ns;
	meter->handler_ns += ns;
	if (ns > meter->max_ns)
		meter->max_ns = ns;
	meter->cost[bucket(ns)]++;
}

u64 cp_budget_period(struct cp_meter *meter, u64 period, u64 min_period, u32 step, bool jitter)
{
	u64 next = period;

	/* A capped handler still costs its interrupt: make that rare as well. */
	if (meter->capped)
		next = mul_u64_u32_shr(period, meter->scale, 16) * 16;
	else if (meter->scale != CP_SCALE_ONE)
		next = mul_u64_u32_shr(period, meter->scale, 16);
	next = max(next, min_period);
	if (jitter) {
		/* xorshift: fixed periods lock step with loops. */
		meter->seed ^= meter->seed << 13;
		meter->seed ^= meter->seed >> 17;
		meter->seed ^= meter->seed << 5;
		next = next - next / 8 + mul_u64_u32_shr(next / 4, meter->seed, 32);
	}
	if (step > 1)
		next = max_t(u64, next - next % step, step);
	return min_t(u64, next, S64_MAX / 4);
}
