// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stand-in for memory PMUs, for tests only: in real NMIs it hands samples with
 * known addresses, latencies and data sources to whoever opened its events, under
 * the rules of the hardware that it stands in for.
 *
 *	standin		a plain counter: registers in an NMI, nothing else; with config
 *			r15 is the interval that is over
 *	standin_pebs	precise_ip up to 3; config 0x1cd loads (config1: ldlat),
 *			or 0x81d0 loads, 0x82d0 stores, 0x2cd stores of one counter,
 *			0x3cd loads that want an auxiliary event, 0x4cd loads with the
 *			interval that they end for a latency
 *	standin_atom	the same, on CPU 1 only, as a hybrid machine's small cores: no
 *			sample says whether it loads or stores
 *	ibs_op		AMD's: swfilt in config2, periods in sixteens; with config1 the
 *			latency is the interval as well
 *
 * Sample n of a CPU has the address ADDR_BASE + 64 * n, the latency 100 + n % 50
 * and the data source sources[n % 4]; with span, where CPU 0 stores what the others load,
 * these find it by mix[n % 5]: two of five in another core that had written it, one in another
 * socket's memory.  An NMI that a CPU sends to itself would
 * land in its own timer interrupt, so every CPU's timer kicks the others.
 *
 * What else is as with the hardware and perf's drivers for it (arch/x86/events):
 * precise_ip 3 and config 0x2cd have one counter for all events, which then take
 * turns; unless wakeup_events is set, records are drained in batches, all of which go to
 * perf's ring, but of which a handler in the kernel sees the last alone; the registers have
 * the code segment of 64-bit code; with REGS_INTR they are the record's, without the flags (here r15 is DRAINED_R15 + n);
 * every 11th sample's ip is not exact; every 16th throttles the event; without
 * exclude_guest there are samples of a guest (address GUEST_ADDR), and IBS' come on a thread
 * with KVM's flag; the next interval has begun, with the period that the event has, before the
 * handler is called, which PEBS' sample is then told, and IBS with swfilt keeps every 19th
 * sample to itself; what counts all loads
 * (0x81d0) says nothing of where one found its data.  No hardware should do it, but
 * of an event with exclude_kernel every 17th sample has an ip that is no program's, which the
 * drivers, going by its sign, take for user mode (WILD_IP).
 */
#include <linux/bits.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/perf_event.h>
#include <asm/perf_regs.h>

#define ADDR_BASE 0x100000000000ULL
#define GUEST_ADDR 0x100000000001ULL
#define DRAINED_R15 0x600d0000ULL
#define WILD_IP (1ULL << 62)
/* kernel/events/core.c */
#define MAX_INTERRUPTS (~0ULL)

static uint period_us = 400;
module_param(period_us, uint, 0444);

static uint span;
module_param(span, uint, 0444);
MODULE_PARM_DESC(span, "so many addresses, CPU 0 stores and the others load; 0: as above");

static bool honest;
module_param(honest, bool, 0444);
MODULE_PARM_DESC(honest, "addresses and directions are those of the loop of commd's self-test");

static bool intel;
module_param(intel, bool, 0444);
MODULE_PARM_DESC(intel,
		 "an Intel machine: standin_pebs is called cpu_core, and there is no ibs_op");

enum { MAX_EVENTS = 4, BATCH = 8 };

struct kicked_cpu {
	struct hrtimer timer;
	struct perf_event *event[MAX_EVENTS];
	u32 held[MAX_EVENTS]; /* records not yet drained */
	u64 n;
	atomic_t kicked;
};

static DEFINE_PER_CPU(struct kicked_cpu, cpus);
static struct pmu plain, pebs, atom, ibs;

static const union perf_mem_data_src sources[4] = {
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1,
	 .mem_snoop = PERF_MEM_SNOOP_NONE},
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L3,
	 .mem_snoop = PERF_MEM_SNOOP_HITM},
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM,
	 .mem_snoop = PERF_MEM_SNOOP_MISS},
	{.mem_op = PERF_MEM_OP_STORE,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1,
	 .mem_snoop = PERF_MEM_SNOOP_NA},
};

static const union perf_mem_data_src mix[5] = {
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L3,
	 .mem_snoop = PERF_MEM_SNOOP_HITM},
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1,
	 .mem_snoop = PERF_MEM_SNOOP_NONE},
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_CCE1,
	 .mem_lvl_num = PERF_MEM_LVLNUM_ANY_CACHE,
	 .mem_remote = PERF_MEM_REMOTE_REMOTE,
	 .mem_hops = PERF_MEM_HOPS_0,
	 .mem_snoop = PERF_MEM_SNOOP_HITM},
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM1,
	 .mem_lvl_num = PERF_MEM_LVLNUM_RAM,
	 .mem_remote = PERF_MEM_REMOTE_REMOTE,
	 .mem_hops = PERF_MEM_HOPS_1,
	 .mem_snoop = PERF_MEM_SNOOP_NA},
	{.mem_op = PERF_MEM_OP_LOAD,
	 .mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM,
	 .mem_snoop = PERF_MEM_SNOOP_MISS},
};

static bool is_intel(const struct perf_event *event)
{
	return event->pmu == &pebs || event->pmu == &atom;
}

/* These must share one counter. */
static bool wants_counter_0(const struct perf_event *event)
{
	return is_intel(event) &&
	       (event->attr.precise_ip == 3 || (event->attr.config & 0xffff) == 0x2cd);
}

static bool is_store(const struct perf_event *event)
{
	return event->attr.config == 0x82d0 || event->attr.config == 0x2cd;
}

/* As set_linear_ip() and the drivers leave them. */
static void record_registers(const struct perf_event *event, u64 n, struct pt_regs *regs)
{
	const struct perf_event_attr *attr = &event->attr;

	if (event->pmu == &ibs) {
		regs->flags &= ~PERF_EFLAGS_EXACT;
	} else {
		regs->flags = 0;
		if (attr->sample_type & PERF_SAMPLE_REGS_INTR &&
		    attr->sample_regs_intr & BIT(PERF_REG_X86_R15))
			regs->r15 = DRAINED_R15 + n;
	}
	if (n % 11 == 10)
		return;
	if (attr->exclude_kernel && n % 17 == 16)
		regs->ip |= WILD_IP;
	regs->cs = (long)regs->ip < 0 ? __KERNEL_CS : __USER_CS;
	regs->flags |= PERF_EFLAGS_EXACT;
}

static void hand_over(struct perf_event *event, struct perf_sample_data *data, u64 n,
		      struct pt_regs *regs)
{
	bool throttle = n % 16 == 15;

	if (throttle)
		event->hw.interrupts = MAX_INTERRUPTS;
	READ_ONCE(event->overflow_handler)(event, data, regs);
	if (throttle)
		event->hw.interrupts = 0;
}

static bool wants_interval(const struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return event->pmu == &ibs ? attr->config1 : attr->config == 0x4cd;
}

static bool is_guests(const struct perf_event *event, u64 n)
{
	return event->pmu == &ibs && !honest && n % 13 == 12;
}

/* What the instruction does that comes next, if it is one of daemon/self_test.c. */
static bool is_told(const struct pt_regs *regs, u64 *addr, union perf_mem_data_src *source)
{
	static const u8 load[] = {0x48, 0x8b, 0x04, 0x0f}, store[] = {0x48, 0x89, 0x04, 0x0e};
	u8 text[sizeof(load)];

	if (copy_from_user_nmi(text, (const void __user *)regs->ip, sizeof(text)))
		return false;
	if (!memcmp(text, load, sizeof(text))) {
		*addr = regs->di + regs->cx;
		source->mem_op = PERF_MEM_OP_LOAD;
		return true;
	}
	if (!memcmp(text, store, sizeof(text))) {
		*addr = regs->si + regs->cx;
		source->mem_op = PERF_MEM_OP_STORE;
		return true;
	}
	return false;
}

/* As KVM's threads have it around a guest's time. */
static void hand_over_guests(struct perf_event *event, struct perf_sample_data *data, u64 n,
			     struct pt_regs *regs)
{
	current->flags |= PF_VCPU;
	hand_over(event, data, n, regs);
	current->flags &= ~PF_VCPU;
}

/* ended: the interval that is over, where event->hw has the next one. */
static void deliver_one(struct perf_event *event, u64 n, u64 ended, struct pt_regs *iregs)
{
	const struct perf_event_attr *attr = &event->attr;
	struct perf_sample_data data;
	struct pt_regs regs = *iregs;
	u64 want = attr->sample_type;
	u32 latency = 100 + n % 50;
	union perf_mem_data_src source = sources[n % 4];

	if (attr->exclude_kernel && !user_mode(&regs))
		return;
	if (event->pmu == &ibs && attr->config2 & 1 && n % 19 == 18)
		return;
	perf_sample_data_init(&data, 0, event->pmu == &ibs ? ended : event->hw.last_period);
	if (wants_interval(event))
		latency = ended;
	if (event->pmu == &plain) {
		if (attr->config)
			regs.r15 = ended;
		READ_ONCE(event->overflow_handler)(event, &data, &regs);
		return;
	}
	if (event->pmu != &ibs) {
		if (latency < attr->config1)
			return;
		if (span && is_store(event) == !!smp_processor_id())
			return;
		source = sources[is_store(event) ? 3 : n % 3];
		if (event->attr.config == 0x81d0)
			source = (union perf_mem_data_src){.mem_op = PERF_MEM_OP_LOAD,
							   .mem_lvl = PERF_MEM_LVL_NA,
							   .mem_snoop = PERF_MEM_SNOOP_NA};
		if (event->pmu == &atom)
			source.mem_op = PERF_MEM_OP_NA;
	} else if (span) {
		source = smp_processor_id() ? mix[n % 5] : sources[3];
	} else if (n % 5 == 0) {
		source.mem_op = PERF_MEM_OP_NA;
	}
	if (want & PERF_SAMPLE_ADDR) {
		u64 place = span ? n % span : n;

		data.addr = n % 7 == 6 ? 0 : ADDR_BASE + 64 * place;
		if (is_guests(event, n) ||
		    (event->pmu != &ibs && n % 13 == 12 && !attr->exclude_guest))
			data.addr = GUEST_ADDR;
		data.sample_flags |= PERF_SAMPLE_ADDR;
	}
	if (honest && !is_told(&regs, &data.addr, &source))
		return;
	if (want & PERF_SAMPLE_DATA_SRC) {
		data.data_src = source;
		data.sample_flags |= PERF_SAMPLE_DATA_SRC;
	}
	if (want & PERF_SAMPLE_WEIGHT) {
		data.weight.full = latency;
		data.sample_flags |= PERF_SAMPLE_WEIGHT;
	}
	record_registers(event, n, &regs);
	if (is_guests(event, n))
		hand_over_guests(event, &data, n, &regs);
	else
		hand_over(event, &data, n, &regs);
}

static void deliver(struct perf_event *event, u32 *held, u64 n, struct pt_regs *regs)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 ended = event->hw.last_period, i = n;

	/* A counter of user mode alone does not count. */
	if (event->pmu != &ibs && attr->exclude_kernel && !user_mode(regs))
		return;
	/* As x86_perf_event_set_period() and IBS' do. */
	event->hw.last_period = event->hw.sample_period;
	if (is_intel(event) && !(attr->freq || (attr->wakeup_events && !attr->watermark))) {
		if (++*held < BATCH)
			return;
		*held = 0;
		if (event->owner != (void *)-1L)
			i = n - (BATCH - 1);
	}
	for (; i <= n; i++)
		deliver_one(event, i, ended, regs);
}

static int nmi(unsigned int type, struct pt_regs *regs)
{
	struct kicked_cpu *cpu = this_cpu_ptr(&cpus);
	int i;

	if (!atomic_xchg(&cpu->kicked, 0))
		return NMI_DONE;
	for (i = 0; i < MAX_EVENTS; i++) {
		struct perf_event *event = READ_ONCE(cpu->event[i]);

		if (event)
			deliver(event, &cpu->held[i], cpu->n++, regs);
	}
	return NMI_HANDLED;
}

static enum hrtimer_restart kick(struct hrtimer *timer)
{
	unsigned int other;

	for_each_online_cpu(other) {
		struct kicked_cpu *cpu = per_cpu_ptr(&cpus, other);
		bool active = false;
		int i;

		for (i = 0; i < MAX_EVENTS; i++)
			active |= !!READ_ONCE(cpu->event[i]);
		if (other == smp_processor_id() || !active || atomic_xchg(&cpu->kicked, 1))
			continue;
		apic->send_IPI(other, NMI_VECTOR);
	}
	hrtimer_forward_now(timer, ns_to_ktime(period_us * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void timer_start(void *unused)
{
	struct hrtimer *timer = &this_cpu_ptr(&cpus)->timer;

	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = kick;
	hrtimer_start(timer, ns_to_ktime(period_us * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * Waits for the hotplug lock as many an event of perf does when it is the first or the
 * last of its kind, to switch a static key: so nobody may make or free an event under
 * this lock.
 */
static void wait_for_hotplug(struct perf_event *event)
{
	cpus_read_lock();
	cpus_read_unlock();
}

static int event_init(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	struct pmu *pmu = event->pmu;

	if (attr->type != pmu->type || event->cpu < 0)
		return -ENOENT;
	event->destroy = wait_for_hotplug;
	wait_for_hotplug(event);
	if (pmu == &atom && event->cpu != 1)
		return -ENOENT;
	if (pmu == &pebs || pmu == &atom) {
		if (attr->precise_ip > 3)
			return -EOPNOTSUPP;
		if (attr->config != 0x1cd && attr->config != 0x81d0 && attr->config != 0x82d0 &&
		    attr->config != 0x2cd && attr->config != 0x3cd && attr->config != 0x4cd)
			return -EINVAL;
		if (attr->config == 0x3cd && attr->sample_type & PERF_SAMPLE_DATA_SRC)
			return -ENODATA;
	}
	if (pmu == &ibs) {
		if (attr->precise_ip || attr->sample_period & 15 || attr->exclude_guest)
			return -EINVAL;
		if ((attr->exclude_kernel || attr->exclude_user) && !(attr->config2 & 1))
			return -EINVAL;
	}
	return 0;
}

static int event_add(struct perf_event *event, int flags)
{
	struct kicked_cpu *cpu = this_cpu_ptr(&cpus);
	int i;

	for (i = 0; wants_counter_0(event) && i < MAX_EVENTS; i++)
		if (cpu->event[i] && wants_counter_0(cpu->event[i]))
			return -EAGAIN;
	for (i = 0; i < MAX_EVENTS; i++) {
		if (!cpu->event[i]) {
			WRITE_ONCE(cpu->event[i], event);
			return 0;
		}
	}
	return -EAGAIN;
}

static void event_del(struct perf_event *event, int flags)
{
	struct kicked_cpu *cpu = this_cpu_ptr(&cpus);
	int i;

	for (i = 0; i < MAX_EVENTS; i++)
		if (cpu->event[i] == event)
			WRITE_ONCE(cpu->event[i], NULL);
}

static void event_none(struct perf_event *event, int flags)
{
}

static void event_start(struct perf_event *event, int flags)
{
	if (flags & PERF_EF_RELOAD)
		event->hw.last_period = event->hw.sample_period;
}

static void event_read(struct perf_event *event)
{
}

#define PMU                                                                   \
	{                                                                     \
		.module = THIS_MODULE, .task_ctx_nr = perf_invalid_context,   \
		.event_init = event_init, .add = event_add, .del = event_del, \
		.start = event_start, .stop = event_none, .read = event_read, \
	}

static struct pmu plain = PMU, pebs = PMU, atom = PMU, ibs = PMU;

static const struct {
	struct pmu *pmu;
	const char *name;
} all[] = {
	{&plain, "standin"},
	{&pebs, "standin_pebs"},
	{&atom, "standin_atom"},
	{&ibs, "ibs_op"},
};

/* By this event sysfs tells Intel's PMUs from others. */
static ssize_t mem_loads_show(struct device *device, struct device_attribute *attr, char *to)
{
	return sysfs_emit(to, "event=0xcd,umask=0x1,ldlat=3\n");
}

static struct device_attribute mem_loads = {
	.attr = {.name = "mem-loads", .mode = 0444},
	.show = mem_loads_show,
};
static struct attribute *event_attrs[] = {&mem_loads.attr, NULL};
static const struct attribute_group event_group = {.name = "events", .attrs = event_attrs};
static const struct attribute_group *groups[] = {&event_group, NULL};

static bool is_there(const struct pmu *pmu)
{
	return !intel || pmu != &ibs;
}

static int __init standin_init(void)
{
	int i, ret;

	ret = register_nmi_handler(NMI_LOCAL, nmi, 0, "standin");
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (!is_there(all[i].pmu))
			continue;
		if (intel && all[i].pmu == &pebs) {
			pebs.attr_groups = groups;
			ret = perf_pmu_register(&pebs, "cpu_core", -1);
		} else {
			ret = perf_pmu_register(all[i].pmu, all[i].name, -1);
		}
		if (ret)
			goto undo;
	}
	on_each_cpu(timer_start, NULL, 1);
	return 0;
undo:
	while (i--)
		if (is_there(all[i].pmu))
			perf_pmu_unregister(all[i].pmu);
	unregister_nmi_handler(NMI_LOCAL, "standin");
	return ret;
}

static void __exit standin_exit(void)
{
	unsigned int cpu;
	int i;

	for_each_online_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&cpus, cpu)->timer);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (is_there(all[i].pmu))
			perf_pmu_unregister(all[i].pmu);
	unregister_nmi_handler(NMI_LOCAL, "standin");
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("stand-in memory PMUs for tests");
