// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include <asm/irq_regs.h>

#include "budget.h"
#include "capture.h"
#include "decode.h"
#include "softpmu.h"

enum {
	CONFIG_MEM = 1,
	MIN_PERIOD_NS = 10000, /* as perf's own clock events */
	WALK_TEXT_BYTES = 80,
};

/*
 * Our own timer calls the overflow handler itself (perf_event_overflow() is not
 * exported), so the kernel's throttling does not apply: the module's cap does.
 */
static DEFINE_PER_CPU(struct cp_meter, meter);
static struct cp_budget_rule rule;
static atomic64_t throttled = ATOMIC64_INIT(0);
static struct pmu softpmu;

/* The first explicit access from here on whose address is known. */
static bool cp_softpmu_find(struct pt_regs *regs, struct cp_operand *ret, u64 *ret_ip)
{
	u8 text[WALK_TEXT_BYTES];
	struct cp_insn insn;
	struct cp_cpu cpu;
	u32 got, at = 0, i;

	if (!user_64bit_mode(regs))
		return false;
	cp_capture_cpu(regs, &cpu);
	got = cp_capture_text(cpu.ip, text, sizeof(text));
	while (!cp_decode(text + at, got - at, &cpu, &insn)) {
		for (i = 0; i < insn.n; i++) {
			if (!insn.operand[i].known || insn.operand[i].flags & CP_ACCESS_IMPLICIT ||
			    insn.operand[i].addr >= TASK_SIZE_MAX)
				continue;
			*ret = insn.operand[i];
			*ret_ip = cpu.ip;
			return true;
		}
		if (insn.ends)
			return false;
		cp_decode_step(&cpu, &insn);
		at += insn.bytes;
	}
	return false;
}

static void cp_softpmu_sample(struct perf_event *event, struct pt_regs *regs, u64 period)
{
	struct perf_sample_data data;
	perf_overflow_handler_t handler;
	struct cp_operand operand;
	struct pt_regs at;
	u64 ip;

	if (!cp_softpmu_find(regs, &operand, &ip))
		return;
	perf_sample_data_init(&data, operand.addr, period);
	data.data_src = (union perf_mem_data_src){
		.mem_op = (operand.flags & CP_ACCESS_READ ? PERF_MEM_OP_LOAD : 0) |
			  (operand.flags & CP_ACCESS_WRITE ? PERF_MEM_OP_STORE : 0),
		.mem_lvl = PERF_MEM_LVL_NA,
		.mem_snoop = PERF_MEM_SNOOP_NA,
		.mem_lock =
			operand.flags & CP_ACCESS_ATOMIC ? PERF_MEM_LOCK_LOCKED : PERF_MEM_LOCK_NA,
		.mem_dtlb = PERF_MEM_TLB_NA,
		.mem_lvl_num = PERF_MEM_LVLNUM_NA,
		.mem_blk = PERF_MEM_BLK_NA,
	};
	data.weight.full = 0;
	data.sample_flags |= PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_TYPE;
	/* The access may be some instructions further on. */
	at = *regs;
	at.ip = ip;
	handler = READ_ONCE(event->overflow_handler);
	handler(event, &data, &at);
}

/*
 * PERF_EVENT_IOC_REFRESH asks for so many samples and then none, which is perf_event_overflow()'s
 * to heed.  Nobody can refuse it, so such an event has no samples; one that is yet to be enabled
 * never runs, as reading its times tells.
 */
static bool cp_softpmu_is_limited(struct perf_event *event)
{
	return atomic_read(&event->event_limit);
}

static enum hrtimer_restart cp_softpmu_tick(struct hrtimer *timer)
{
	struct perf_event *event = container_of(timer, struct perf_event, hw.hrtimer);
	struct pt_regs *regs = get_irq_regs();
	struct cp_meter *mine = this_cpu_ptr(&meter);
	u64 start_ns = ktime_get_mono_fast_ns();
	u64 period = event->hw.last_period;

	if (event->state != PERF_EVENT_STATE_ACTIVE)
		return HRTIMER_NORESTART;
	event->pmu->read(event);
	if (!cp_budget_enter(&rule, mine, start_ns))
		atomic64_inc(&throttled);
	else if (regs && user_mode(regs) && !event->attr.exclude_user &&
		 !cp_softpmu_is_limited(event))
		cp_softpmu_sample(event, regs, period);
	cp_budget_leave(&rule, mine, start_ns, ktime_get_mono_fast_ns());
	event->hw.last_period =
		cp_budget_period(mine, event->hw.sample_period, MIN_PERIOD_NS, 1, false);
	hrtimer_forward_now(timer, ns_to_ktime(event->hw.last_period));
	return HRTIMER_RESTART;
}

/* The count is nanoseconds on the CPU. */
static void cp_softpmu_read(struct perf_event *event)
{
	u64 now_ns = ktime_get_mono_fast_ns();
	u64 before_ns = local64_xchg(&event->hw.prev_count, now_ns);

	local64_add(now_ns - before_ns, &event->count);
}

static void cp_softpmu_start(struct perf_event *event, int flags)
{
	u64 left_ns = local64_read(&event->hw.period_left);

	event->hw.state = 0;
	local64_set(&event->hw.prev_count, ktime_get_mono_fast_ns());
	/* An interval begins, or its rest is that of a longer period than there is now. */
	if (!left_ns) {
		left_ns = event->hw.sample_period;
		event->hw.last_period = left_ns;
	} else if (left_ns > event->hw.sample_period) {
		event->hw.last_period -= left_ns - event->hw.sample_period;
		left_ns = event->hw.sample_period;
	}
	local64_set(&event->hw.period_left, 0);
	hrtimer_start(&event->hw.hrtimer, ns_to_ktime(max_t(u64, left_ns, MIN_PERIOD_NS)),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void cp_softpmu_stop(struct perf_event *event, int flags)
{
	ktime_t left = hrtimer_get_remaining(&event->hw.hrtimer);

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	local64_set(&event->hw.period_left, max_t(s64, ktime_to_ns(left), 0));
	hrtimer_cancel(&event->hw.hrtimer);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	cp_softpmu_read(event);
}

static int cp_softpmu_add(struct perf_event *event, int flags)
{
	if (cp_softpmu_is_limited(event))
		return -EOPNOTSUPP;
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		cp_softpmu_start(event, flags);
	return 0;
}

static void cp_softpmu_del(struct perf_event *event, int flags)
{
	cp_softpmu_stop(event, flags);
}

static int cp_softpmu_event_init(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;

	if (attr->type != softpmu.type)
		return -ENOENT;
	if (attr->config != CONFIG_MEM || attr->config1 || attr->config2)
		return -EINVAL;
	/* A signal at each sample, too, is perf_event_overflow()'s. */
	if (!is_sampling_event(event) || has_branch_stack(event) || attr->precise_ip > 2 ||
	    attr->sigtrap)
		return -EOPNOTSUPP;
	/*
	 * So are BPF programs since Linux 6.10.  PERF_EVENT_IOC_SET_BPF is refused (-EINVAL) where
	 * a handler has a context; perf's own handlers have none and do not look at it.
	 */
	if (!event->overflow_handler_context)
		event->overflow_handler_context = &softpmu;
	if (attr->freq) {
		/* As perf's clock events: time is the period, so a rate is one. */
		event->hw.sample_period = div64_u64(NSEC_PER_SEC, attr->sample_freq ?: 1);
		attr->sample_period = event->hw.sample_period;
		attr->freq = 0;
	}
	event->hw.sample_period = max_t(u64, event->hw.sample_period, MIN_PERIOD_NS);
	event->hw.last_period = event->hw.sample_period;
	local64_set(&event->hw.period_left, 0);
#ifdef CP_HAVE_HRTIMER_SETUP
	hrtimer_setup(&event->hw.hrtimer, cp_softpmu_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&event->hw.hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	event->hw.hrtimer.function = cp_softpmu_tick;
#endif
	return 0;
}

PMU_FORMAT_ATTR(event, "config:0-7");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

PMU_EVENT_ATTR_STRING(mem, event_attr_mem, "event=0x01");

static struct attribute *event_attrs[] = {
	&event_attr_mem.attr.attr,
	NULL,
};

static const struct attribute_group event_group = {
	.name = "events",
	.attrs = event_attrs,
};

static ssize_t throttled_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lld\n", atomic64_read(&throttled));
}
static DEVICE_ATTR_RO(throttled);

static struct attribute *state_attrs[] = {
	&dev_attr_throttled.attr,
	NULL,
};

static const struct attribute_group state_group = {
	.attrs = state_attrs,
};

static const struct attribute_group *groups[] = {
	&format_group,
	&event_group,
	&state_group,
	NULL,
};

static struct pmu softpmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_sw_context,
	.attr_groups = groups,
	.event_init = cp_softpmu_event_init,
	.add = cp_softpmu_add,
	.del = cp_softpmu_del,
	.start = cp_softpmu_start,
	.stop = cp_softpmu_stop,
	.read = cp_softpmu_read,
};

u32 cp_softpmu_type(void)
{
	return softpmu.type;
}

int cp_softpmu_init(void)
{
	const struct cp_budget budget = {.size = sizeof(budget), .cap_ppm = CP_MAX_CAP_PPM};
	unsigned int cpu;
	int ret = cp_budget_rule(&budget, &rule);

	if (ret)
		return ret;
	for_each_possible_cpu(cpu)
		cp_meter_init(per_cpu_ptr(&meter, cpu), cpu + 1);
	return perf_pmu_register(&softpmu, "commprof", -1);
}

void cp_softpmu_exit(void)
{
	perf_pmu_unregister(&softpmu);
}
