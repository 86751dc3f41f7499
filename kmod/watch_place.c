// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/hw_breakpoint.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/timekeeping.h>

#include <trace/events/sched.h>

#include "session.h"
#include "watch.h"
#include "watch_place.h"

enum { PARKED_ADDR = 8 }; /* below mmap_min_addr: a fault comes before a trap */

/*
 * Moves a breakpoint on its own CPU with interrupts off.  del and add of its PMU are
 * called directly since nothing that is exported does this here: the functions that
 * modify a breakpoint sleep or want one that belongs to a task, and
 * modify_wide_hw_breakpoint_local(), made for just this, is not exported.  perf itself
 * calls del and add of this CPU's events here only, with interrupts off as well, and
 * keeps no copy of the address.
 */
static bool cp_watch_lift(struct perf_event *bp)
{
	/* Off the CPU just now (perf reschedules its events): perf adds it where it is put. */
	if (bp->state != PERF_EVENT_STATE_ACTIVE)
		return false;
	bp->pmu->del(bp, 0);
	return true;
}

static void cp_watch_lower(struct perf_event *bp, bool lifted, u64 place, u8 type)
{
	struct arch_hw_breakpoint *info = counter_arch_bp(bp);

	info->address = place ? cp_watch_place_addr(place) : PARKED_ADDR;
	info->type = place ? type : X86_BREAKPOINT_WRITE;
	switch (place ? cp_watch_place_bytes(place) : 8) {
	case 1:
		info->len = X86_BREAKPOINT_LEN_1;
		break;
	case 2:
		info->len = X86_BREAKPOINT_LEN_2;
		break;
	case 4:
		info->len = X86_BREAKPOINT_LEN_4;
		break;
	default:
		info->len = X86_BREAKPOINT_LEN_8;
	}
	bp->attr.bp_addr = info->address;
	if (lifted)
		bp->pmu->add(bp, PERF_EF_START);
}

/*
 * Both registers of a window are lifted before the first is put back: so that has the
 * lower number of the two, and the kernel calls its handler first when both trap.
 */
void cp_watch_set(struct cp_watch_cpu *here, u32 slot, u64 place)
{
	struct perf_event *first = here->bp[slot][0], *second = here->bp[slot][1];
	bool lifted[2];

	if (here->placed[slot] == place || !first)
		return;
	lifted[0] = cp_watch_lift(first);
	lifted[1] = second && cp_watch_lift(second);
	cp_watch_lower(first, lifted[0], place, cp_watch_place_type(place));
	if (second)
		cp_watch_lower(second, lifted[1], place & CP_WATCH_IN_WINDOW ? place : 0,
			       X86_BREAKPOINT_RW);
	here->placed[slot] = place;
}

/*
 * A trap from kernel mode restores the debug registers as they were when it is over, so
 * that one asks for an interrupt instead.
 */
void cp_watch_move(struct cp_watch_cpu *here, u32 slot, u64 place, struct pt_regs *regs)
{
	if (user_mode(regs))
		cp_watch_set(here, slot, place);
	else
		irq_work_queue(&here->again);
}

/* Does a task that now runs there want the slot, at this place? */
static bool cp_watch_wants(const struct cp_watch_slot *slot, u64 mm, struct task_struct *task)
{
	return mm &&
	       (mm == slot->mm || (slot->shared && task &&
				   cp_targets_match_task(&slot->watch->session->targets, task)));
}

/*
 * A task comes on, or something changed while it runs: where should this CPU's slots
 * stand?  False: where they do.  A kernel thread leaves all as it is, as it leaves the
 * page tables: it touches no user memory of its own accord, and mostly the same task
 * follows.
 */
static bool cp_watch_look(struct cp_watcher *watch, struct cp_watch_cpu *here,
			  struct task_struct *task, u64 *want)
{
	u64 mm = cp_target_mm(task);
	bool change = false;
	u32 i;

	WRITE_ONCE(here->task, task);
	WRITE_ONCE(here->mm, mm);
	if (!mm)
		return false;
	smp_mb(); /* pairs with cp_watch_tell(): we see the place or it sees the mm */
	for (i = 0; i < watch->config.slots; i++) {
		const struct cp_watch_slot *slot = &watch->slot[i];
		/* Acquire: pairs with cp_watch_arm(), the mm of a place comes with it. */
		u64 place = smp_load_acquire(&slot->place);

		want[i] = place && cp_watch_wants(slot, mm, task) ? place : 0;
		change |= want[i] != here->placed[i];
	}
	return change;
}

static void cp_watch_follow(struct cp_watcher *watch, struct cp_watch_cpu *here)
{
	u64 want[CP_MAX_SLOTS];
	u32 i;

	if (!cp_watch_look(watch, here, current, want))
		return;
	for (i = 0; i < watch->config.slots; i++)
		cp_watch_set(here, i, want[i]);
}

bool cp_watch_may(struct cp_watcher *watch, struct cp_meter *meter, u64 now_ns)
{
	u32 stretch = meter->stretch;
	bool may = cp_budget_enter(&watch->session->rule, meter, now_ns);

	if (!may)
		meter->stretch = stretch;
	return may;
}

void cp_watch_charge(struct cp_watcher *watch, u64 start_ns)
{
	cp_budget_leave(&watch->session->rule,
			&this_cpu_ptr(watch->session->percpu)->meter[CP_CONTEXT_IRQ], start_ns,
			ktime_get_mono_fast_ns());
}

static void cp_watch_switch_to(struct cp_watcher *watch, struct task_struct *next)
{
	struct cp_watch_cpu *here = this_cpu_ptr(watch->cpu);
	u64 want[CP_MAX_SLOTS];
	u64 start_ns;
	bool may;
	u32 i;

	if (!cp_watch_look(watch, here, next, want))
		return;
	/*
	 * Over the cap the registers stay as they are: what another process then hits by
	 * chance is refused by its trap, and a watch that is blind here is over.
	 */
	start_ns = ktime_get_mono_fast_ns();
	may = cp_watch_may(watch, &this_cpu_ptr(watch->session->percpu)->meter[CP_CONTEXT_IRQ],
			   start_ns);
	for (i = 0; i < watch->config.slots; i++)
		if (may)
			cp_watch_set(here, i, want[i]);
		else if (want[i] && want[i] != here->placed[i])
			WRITE_ONCE(watch->slot[i].refused, true);
	cp_watch_charge(watch, start_ns);
}

/*
 * On every switch, interrupts off, which makes this a reader of the list.  The first
 * watcher takes the tracepoint, and the module keeps it until it goes: each change of it
 * rewrites the kernel's code under all CPUs, isolated ones too.
 */
static HLIST_HEAD(cp_watchers);
static DEFINE_MUTEX(cp_watchers_lock);
static struct tracepoint *cp_watch_tracepoint; /* under the mutex; NULL: not taken */

static void cp_watch_switch(void *unused, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	struct cp_watcher *watch;

	hlist_for_each_entry_rcu(watch, &cp_watchers, node)
		cp_watch_switch_to(watch, next);
}

/*
 * One of the CPUs of a slot, or a teller, is through.  A write can open the window while
 * CPUs are still on their way to the watch, so the count tells by itself what it is of.
 * The last one keeps its part until the window has its time, for then the slot may go.
 */
static void cp_watch_told(struct cp_watch_slot *slot)
{
	u64 claimed_ns = slot->claimed_ns, min_ns, ns;
	int was = atomic_fetch_add_unless(&slot->telling, -1, CP_WATCH_OPENING + 1);

	if (was == CP_WATCH_OPENING + 1) {
		smp_acquire__after_ctrl_dep(); /* the time is after what the others did */
		WRITE_ONCE(slot->window.opened_ns, ktime_get_mono_fast_ns());
		/* Release: pairs with cp_watch_is_telling(). */
		atomic_fetch_dec_release(&slot->telling);
	}
	if (was != 1)
		return;
	ns = ktime_get_mono_fast_ns() - claimed_ns;
	atomic64_add(ns, &slot->watch->arm_ns);
	min_ns = atomic64_read(&slot->watch->arm_min_ns);
	if (!min_ns || ns < min_ns)
		atomic64_set(&slot->watch->arm_min_ns, ns);
}

/* A message, interrupts off. */
static void cp_watch_hear(void *data)
{
	struct cp_watcher *watch = data;
	struct cp_watch_cpu *here = this_cpu_ptr(watch->cpu);
	u64 start_ns = ktime_get_mono_fast_ns();
	unsigned long pending;
	u32 i;

	/*
	 * Full barrier, pairs with that of atomic_fetch_or() in cp_watch_send(): a place
	 * that is not yet seen below finds no bit and sends again.
	 */
	pending = atomic_xchg(&here->pending, 0);
	cp_watch_follow(watch, here);
	for_each_set_bit(i, &pending, CP_MAX_SLOTS) cp_watch_told(&watch->slot[i]);
	cp_watch_charge(watch, start_ns);
}

/*
 * One message for each CPU at a time, whoever sends it: a call_single_data must not be
 * queued from two CPUs.  Who sets the first bit sends; later bits go with the message
 * that is under way, whose receiver takes all bits at once.
 */
static void cp_watch_send(struct cp_watch_slot *slot, unsigned int cpu)
{
	struct cp_watcher *watch = slot->watch;
	struct cp_watch_cpu *there = per_cpu_ptr(watch->cpu, cpu);
	unsigned long pending;
	u32 i;

	atomic_inc(&slot->telling);
	pending = atomic_fetch_or(BIT(slot->index), &there->pending);
	if (pending & BIT(slot->index))
		atomic_dec(&slot->telling);
	if (pending || !smp_call_function_single_async(cpu, &there->csd))
		return;
	/* The CPU is gone. */
	pending = atomic_xchg(&there->pending, 0);
	for_each_set_bit(i, &pending, CP_MAX_SLOTS) atomic_dec(&watch->slot[i].telling);
	atomic64_inc(&watch->missed);
}

/* Does a CPU run, right now, a task that the slot is for? */
static bool cp_watch_concerns(const struct cp_watch_slot *slot, unsigned int cpu)
{
	const struct cp_watch_cpu *there = per_cpu_ptr(slot->watch->cpu, cpu);

	/*
	 * The task may end there and now, but interrupts are off here, and a task is
	 * freed after a grace period that begins when it has left its CPU.
	 */
	return cp_watch_wants(slot, READ_ONCE(there->mm), READ_ONCE(there->task));
}

/* False: it cannot be told to all. */
bool cp_watch_tell(struct cp_watch_slot *slot)
{
	struct cp_watcher *watch = slot->watch;
	unsigned int cpu, here = smp_processor_id();

	smp_mb(); /* pairs with cp_watch_look(): we see the mm or it sees the place */
	/*
	 * An isolated CPU is not interrupted, and a watch that is blind where its
	 * process runs would name the wrong writer: then there is none.
	 */
	for_each_online_cpu(cpu)
		if (cpu != here && cpu_is_isolated(cpu) && cp_watch_concerns(slot, cpu)) {
			atomic_andnot(CP_WATCH_OPENING, &slot->telling);
			atomic_dec(&slot->telling);
			return false;
		}
	/* The others first: they are the ones that are late. */
	for_each_online_cpu(cpu)
		if (cpu != here && cp_watch_concerns(slot, cpu))
			cp_watch_send(slot, cpu);
	cp_watch_follow(watch, this_cpu_ptr(watch->cpu));
	cp_watch_told(slot);
	return true;
}

/*
 * After a trap from kernel mode.  A kernel thread that borrows an mm is not looked at by
 * cp_watch_look(): here it loses what it hit.
 */
static void cp_watch_again(struct irq_work *work)
{
	struct cp_watch_cpu *here = container_of(work, struct cp_watch_cpu, again);
	struct cp_watcher *watch = here->csd.info;
	u64 start_ns = ktime_get_mono_fast_ns();
	u32 i;

	if (cp_target_mm(current))
		cp_watch_follow(watch, here);
	else
		for (i = 0; i < watch->config.slots; i++)
			cp_watch_set(here, i, 0);
	cp_watch_charge(watch, start_ns);
}

/* The breakpoints of one CPU, on their way there or back. */
struct cp_watch_events {
	struct cp_watcher *watch;
	unsigned int cpu;
	struct perf_event *bp[CP_MAX_SLOTS][2];
};

/* On the CPU, interrupts off.  It may have run one task for long: no switch told of it. */
static void cp_watch_give(void *data)
{
	struct cp_watch_events *events = data;
	struct cp_watch_cpu *here = this_cpu_ptr(events->watch->cpu);

	memcpy(here->bp, events->bp, sizeof(here->bp));
	memset(here->placed, 0, sizeof(here->placed));
	cp_watch_follow(events->watch, here);
}

/* On the CPU, if it is there, interrupts off: what moves its slots is over or finds none. */
static void cp_watch_take(void *data)
{
	struct cp_watch_events *events = data;
	struct cp_watch_cpu *here = per_cpu_ptr(events->watch->cpu, events->cpu);

	memcpy(events->bp, here->bp, sizeof(here->bp));
	memset(here->bp, 0, sizeof(here->bp));
	memset(here->placed, 0, sizeof(here->placed));
}

static void cp_watch_release(struct cp_watch_events *events)
{
	u32 i, k;

	for (i = 0; i < CP_MAX_SLOTS; i++)
		for (k = 0; k < 2; k++)
			if (events->bp[i][k])
				perf_event_release_kernel(events->bp[i][k]);
}

void cp_watch_open(struct cp_watcher *watch, unsigned int cpu)
{
	struct cp_watch_events events = {.watch = watch, .cpu = cpu};
	u32 registers = watch->config.flags & CP_WATCH_WINDOW ? 2 : 1;
	struct perf_event_attr attr;
	struct perf_event *bp;
	u32 i, k;

	/* The kernel's accesses trap whether asked for or not: better here than unseen. */
	hw_breakpoint_init(&attr);
	attr.bp_addr = PARKED_ADDR;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		for (k = 0; k < registers; k++) {
			bp = perf_event_create_kernel_counter(&attr, cpu, NULL, watch->trap, slot);
			if (!IS_ERR(bp))
				events.bp[i][k] = bp;
			else if (PTR_ERR(bp) != -ENODEV) /* the CPU has just gone */
				/* Held by a debugger.  One blind CPU would bias the rest. */
				WRITE_ONCE(slot->broken, true);
		}
	}
	if (smp_call_function_single(cpu, cp_watch_give, &events, 1))
		cp_watch_release(&events);
}

void cp_watch_close(struct cp_watcher *watch, unsigned int cpu)
{
	struct cp_watch_events events = {.watch = watch, .cpu = cpu};

	if (smp_call_function_single(cpu, cp_watch_take, &events, 1)) {
		/* It is not there, or comes just now: its interrupts are over after this. */
		cp_watch_take(&events);
		synchronize_rcu();
	}
	cp_watch_release(&events);
}

static void cp_watch_find(struct tracepoint *tracepoint, void *data)
{
	struct tracepoint **found = data;

	if (!strcmp(tracepoint->name, "sched_switch"))
		*found = tracepoint;
}

static int cp_watch_take_tracepoint(void)
{
	struct tracepoint *tracepoint = NULL;
	int ret;

	check_trace_callback_type_sched_switch(cp_watch_switch);
	for_each_kernel_tracepoint(cp_watch_find, &tracepoint);
	if (!tracepoint)
		return -EOPNOTSUPP;
	ret = tracepoint_probe_register(tracepoint, cp_watch_switch, NULL);
	if (!ret)
		cp_watch_tracepoint = tracepoint;
	return ret;
}

/* From here on the watcher is told of switches. */
static int cp_watch_join(struct cp_watcher *watch)
{
	int ret = 0;

	mutex_lock(&cp_watchers_lock);
	if (!cp_watch_tracepoint)
		ret = cp_watch_take_tracepoint();
	if (!ret)
		hlist_add_head_rcu(&watch->node, &cp_watchers);
	mutex_unlock(&cp_watchers_lock);
	return ret;
}

static void cp_watch_leave(struct cp_watcher *watch)
{
	if (hlist_unhashed(&watch->node))
		return;
	mutex_lock(&cp_watchers_lock);
	hlist_del_rcu(&watch->node);
	mutex_unlock(&cp_watchers_lock);
	synchronize_rcu();
}

void cp_watch_module_exit(void)
{
	if (!cp_watch_tracepoint)
		return;
	tracepoint_probe_unregister(cp_watch_tracepoint, cp_watch_switch, NULL);
	tracepoint_synchronize_unregister();
}

int cp_watch_place_init(struct cp_watcher *watch, perf_overflow_handler_t trap)
{
	unsigned int cpu;

	watch->trap = trap;
	watch->cpu = alloc_percpu(struct cp_watch_cpu);
	if (!watch->cpu)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct cp_watch_cpu *there = per_cpu_ptr(watch->cpu, cpu);

		INIT_CSD(&there->csd, cp_watch_hear, watch);
		there->again = IRQ_WORK_INIT_HARD(cp_watch_again);
	}
	return cp_watch_join(watch);
}

void cp_watch_place_deinit(struct cp_watcher *watch)
{
	cp_watch_leave(watch);
	free_percpu(watch->cpu);
}
