// SPDX-License-Identifier: GPL-2.0-only
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#include <asm/local64.h>

#include "cap.h"
#include "commprof.h"

enum {
	WINDOW_MS = 100,
	WINDOW_NS = WINDOW_MS * 1000000,
	ROUNDS = 64,
	MOST_ENTRY_NS = 100000, /* an interrupt that takes longer was itself interrupted */
};

/* An NMI may come between any two instructions: each word changes by one. */
struct cp_cap_cpu {
	local64_t window_start_ns;
	local64_t spent_ns;
};

static DEFINE_PER_CPU(struct cp_cap_cpu, cp_cap_cpus);
static u32 cp_entry_ns;

static unsigned int cap_ppm = CP_DEFAULT_MODULE_CAP_PPM;

static int cp_cap_set(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 1, CP_MAX_CAP_PPM);
}

static const struct kernel_param_ops cp_cap_ops = {
	.set = cp_cap_set,
	.get = param_get_uint,
};

module_param_cb(cap_ppm, &cp_cap_ops, &cap_ppm, 0644);
__MODULE_PARM_TYPE(cap_ppm, "uint");
MODULE_PARM_DESC(cap_ppm, "most time of each CPU that all of the module may take, in ppm");

u32 cp_cap_ppm(void)
{
	return READ_ONCE(cap_ppm);
}

u32 cp_cap_entry_ns(void)
{
	return cp_entry_ns;
}

bool cp_cap_allows(u64 now_ns)
{
	struct cp_cap_cpu *cpu = this_cpu_ptr(&cp_cap_cpus);
	u64 start_ns = local64_read(&cpu->window_start_ns);
	u64 spent_ns = local64_read(&cpu->spent_ns);

	/*
	 * Signed: the fast clock may step back by a little between NMI and IRQ.  An NMI
	 * that begins the next window before us has charged it already: what it charged
	 * stays, for we take away no more than we read before.
	 */
	if ((s64)(now_ns - start_ns) >= WINDOW_NS &&
	    local64_cmpxchg(&cpu->window_start_ns, start_ns, now_ns) == start_ns)
		local64_sub(spent_ns, &cpu->spent_ns);
	return local64_read(&cpu->spent_ns) < (u64)WINDOW_MS * READ_ONCE(cap_ppm);
}

void cp_cap_charge(u64 ns)
{
	local64_add(ns, &this_cpu_ptr(&cp_cap_cpus)->spent_ns);
}

static void cp_cap_nothing(struct irq_work *work)
{
}

/*
 * An interrupt that a CPU sends to itself is entered and left as a timer's is.  The
 * fastest of many: the others were disturbed, or found cold caches, which a sampled
 * program does pay for, so this is the least that an interrupt costs.
 */
void cp_cap_init(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(cp_cap_nothing);
	u64 best_ns = MOST_ENTRY_NS, start_ns;
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		start_ns = ktime_get_mono_fast_ns();
		irq_work_queue(&work);
		irq_work_sync(&work);
		best_ns = min(best_ns, ktime_get_mono_fast_ns() - start_ns);
	}
	cp_entry_ns = best_ns;
}
