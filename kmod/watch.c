// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>

#include <trace/events/sched.h>

#include "session.h"
#include "watch.h"

enum cp_watch_state { FREE, CLAIMED, ARMED, HELD };

enum {
	PARKED_ADDR = 8, /* below mmap_min_addr: a fault comes before a trap */
	FOREIGN_MAX = 16,
	BURST_NS = 50 * NSEC_PER_MSEC, /* what per_second may lag behind */
};

/* After which access to watch for what; the order is the order of preference. */
static const struct cp_watch_policy {
	u32 flag;
	u16 first;
	u8 type;
	u16 second;
} policies[] = {
	{CP_WATCH_LOAD_THEN_WRITE, CP_ACCESS_READ, X86_BREAKPOINT_WRITE, CP_ACCESS_WRITE},
	{CP_WATCH_STORE_THEN_ACCESS, CP_ACCESS_WRITE, X86_BREAKPOINT_RW,
	 CP_ACCESS_READ | CP_ACCESS_WRITE | CP_ACCESS_EITHER},
};

/* Where a slot stands, in one word, so that no CPU ever sees half of a change. */
static u64 cp_watch_place(u64 addr, u32 bytes, u8 type)
{
	return addr | (u64)(bytes - 1) << 57 | (u64)type << 60;
}

static u64 cp_watch_place_addr(u64 place)
{
	return place & (BIT_ULL(57) - 1);
}

static u32 cp_watch_place_bytes(u64 place)
{
	return (place >> 57 & 7) + 1;
}

struct cp_watch_slot {
	struct cp_watcher *watch;
	u32 index;
	bool broken; /* some CPU has no room for it */
	atomic_t state;
	u64 place; /* 0: parked */
	u64 mm;	   /* cp_watch_mm() of the sampled task */
	u64 pfn;   /* the datum's page, for other processes that map it */
	bool shared;
	const struct cp_watch_policy *policy;
	struct cp_access first;
	u64 own_hit_ip;
	u64 claimed_ns;
	u64 armed_ns;
	atomic_t foreign;
	atomic_t telling; /* CPUs on their way, and the teller */
	struct irq_work arm;
};

/*
 * What a CPU runs and what its debug registers hold.  Written by that CPU alone, with
 * interrupts off; others read mm and task, and set bits in news.
 */
struct cp_watch_cpu {
	u64 mm; /* of the task that runs; 0: a kernel thread */
	struct task_struct *task;
	u64 placed[CP_MAX_SLOTS]; /* 0: parked */
	struct perf_event *bp[CP_MAX_SLOTS];
	struct irq_work again;
	atomic_t news; /* a bit for each slot: a message with it is under way */
	call_single_data_t csd;
};

struct cp_watcher {
	struct cp_session *session;
	struct cp_watch config;
	struct hlist_node node; /* of all watchers */
	u64 interval_ns;
	u64 timeout_ns;
	atomic64_t next_ns; /* when per_second allows the next one */
	atomic64_t armed, hits, expired, foreign, missed, arm_ns, arm_min_ns;
	struct cp_watch_slot slot[CP_MAX_SLOTS];
	struct cp_watch_cpu __percpu *cpu;
};

/*
 * Which memory a task runs on.  x86 gives every mm a number that is never given again
 * (for its TLB), so that neither exec() nor the end of a process, after which another
 * mm may lie where the old one lay, needs a reference here.  The mm of current, or of a
 * task that the scheduler puts on this CPU, cannot go meanwhile.  0: a kernel thread,
 * whatever mm it borrows.
 */
static u64 cp_watch_mm(const struct task_struct *task)
{
	const struct mm_struct *mm = task->flags & PF_KTHREAD ? NULL : READ_ONCE(task->mm);

	return mm ? mm->context.ctx_id : 0;
}

/*
 * Moves a breakpoint on its own CPU with interrupts off.  del and add of its PMU are
 * called directly since nothing that is exported does this here: the functions that
 * modify a breakpoint sleep or want one that belongs to a task, and
 * modify_wide_hw_breakpoint_local(), made for just this, is not exported.  perf itself
 * calls del and add of this CPU's events here only, with interrupts off as well, and
 * keeps no copy of the address.
 */
static void cp_watch_move(struct perf_event *bp, u64 to)
{
	struct arch_hw_breakpoint *info = counter_arch_bp(bp);
	/* Off the CPU just now (perf reschedules its events): perf adds it there. */
	bool on = bp->state == PERF_EVENT_STATE_ACTIVE;

	if (on)
		bp->pmu->del(bp, 0);
	info->address = to ? cp_watch_place_addr(to) : PARKED_ADDR;
	info->type = to ? to >> 60 & 3 : X86_BREAKPOINT_WRITE;
	switch (to ? cp_watch_place_bytes(to) : 8) {
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
	if (on)
		bp->pmu->add(bp, PERF_EF_START);
}

static void cp_watch_set(struct cp_watch_cpu *here, u32 slot, u64 place)
{
	if (here->placed[slot] == place || !here->bp[slot])
		return;
	cp_watch_move(here->bp[slot], place);
	here->placed[slot] = place;
}

/*
 * Parks a slot of this CPU from its trap.  A trap from kernel mode restores the debug
 * registers as they were when it is over, so that one asks for an interrupt instead.
 */
static void cp_watch_park(struct cp_watch_cpu *here, u32 slot, struct pt_regs *regs)
{
	if (user_mode(regs))
		cp_watch_set(here, slot, 0);
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
	u64 mm = cp_watch_mm(task);
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

/*
 * May what costs time go on?  Asked like a sample, but a refusal does not make the next
 * sample later, as that of a sample does.
 */
static bool cp_watch_may(struct cp_watcher *watch, struct cp_meter *meter, u64 now_ns)
{
	u32 stretch = meter->stretch;
	bool may = cp_budget_enter(&watch->session->rule, meter, now_ns);

	if (!may)
		meter->stretch = stretch;
	return may;
}

/* What a message or an armed watch took: due whatever the verdict, so nothing is asked. */
static void cp_watch_charge(struct cp_watcher *watch, u64 start_ns)
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
	u32 i;

	if (!cp_watch_look(watch, here, next, want))
		return;
	/*
	 * Over the cap the registers stay as they are: what another process then hits by
	 * chance is refused by its trap.
	 */
	start_ns = ktime_get_mono_fast_ns();
	if (cp_watch_may(watch, &this_cpu_ptr(watch->session->percpu)->meter[CP_CONTEXT_IRQ],
			 start_ns))
		for (i = 0; i < watch->config.slots; i++)
			cp_watch_set(here, i, want[i]);
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

	hlist_for_each_entry_rcu(watch, &cp_watchers, node) cp_watch_switch_to(watch, next);
}

/* One of the CPUs of a slot, or the teller, is through. */
static void cp_watch_told(struct cp_watch_slot *slot)
{
	u64 claimed_ns = slot->claimed_ns, min_ns, ns;

	if (!atomic_dec_and_test(&slot->telling))
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
	unsigned long news;
	u32 i;

	/*
	 * Full barrier, pairs with that of atomic_fetch_or() in cp_watch_send(): a place
	 * that is not yet seen below finds no bit and sends again.
	 */
	news = atomic_xchg(&here->news, 0);
	cp_watch_follow(watch, here);
	for_each_set_bit(i, &news, CP_MAX_SLOTS) cp_watch_told(&watch->slot[i]);
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
	unsigned long news;
	u32 i;

	atomic_inc(&slot->telling);
	news = atomic_fetch_or(BIT(slot->index), &there->news);
	if (news & BIT(slot->index))
		atomic_dec(&slot->telling);
	if (news || !smp_call_function_single_async(cpu, &there->csd))
		return;
	/* The CPU is gone. */
	news = atomic_xchg(&there->news, 0);
	for_each_set_bit(i, &news, CP_MAX_SLOTS) atomic_dec(&watch->slot[i].telling);
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
static bool cp_watch_tell(struct cp_watch_slot *slot)
{
	struct cp_watcher *watch = slot->watch;
	unsigned int cpu, here = smp_processor_id();

	smp_mb(); /* pairs with cp_watch_look(): we see the mm or it sees the place */
	/*
	 * An isolated CPU is not interrupted, and a watch that is blind where its
	 * process runs would name the wrong writer: then there is none.
	 */
	for_each_online_cpu(cpu)
		if (cpu != here && cpu_is_isolated(cpu) && cp_watch_concerns(slot, cpu))
			return false;
	atomic_inc(&slot->telling);
	/* The others first: they are the ones that are late. */
	for_each_online_cpu(cpu)
		if (cpu != here && cp_watch_concerns(slot, cpu))
			cp_watch_send(slot, cpu);
	cp_watch_follow(watch, this_cpu_ptr(watch->cpu));
	cp_watch_told(slot);
	return true;
}

static void cp_watch_arm(struct irq_work *work)
{
	struct cp_watch_slot *slot = container_of(work, struct cp_watch_slot, arm);
	struct cp_watcher *watch = slot->watch;
	u64 start_ns = ktime_get_mono_fast_ns();
	u32 bytes = slot->first.size_bytes;
	u64 addr = slot->first.addr;

	if (!is_power_of_2(bytes) || bytes > 8 || addr & (bytes - 1)) {
		bytes = 8;
		addr &= ~7ULL;
	}
	slot->armed_ns = ktime_get_mono_fast_ns();
	atomic_set(&slot->foreign, 0);
	/* Release: who sees the place sees whose it is. */
	smp_store_release(&slot->place, cp_watch_place(addr, bytes, slot->policy->type));
	/* Release: a trap that finds ARMED finds all of the slot. */
	atomic_set_release(&slot->state, ARMED);
	if (cp_watch_tell(slot)) {
		atomic64_inc(&watch->armed);
	} else {
		atomic64_inc(&watch->missed);
		if (atomic_cmpxchg(&slot->state, ARMED, HELD) == ARMED) {
			WRITE_ONCE(slot->place, 0);
			atomic_set_release(&slot->state, FREE);
		}
	}
	cp_watch_charge(watch, start_ns);
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

	if (cp_watch_mm(current))
		cp_watch_follow(watch, here);
	else
		for (i = 0; i < watch->config.slots; i++)
			cp_watch_set(here, i, 0);
	cp_watch_charge(watch, start_ns);
}

static const struct cp_watch_policy *cp_watch_choose(const struct cp_watcher *watch, u16 flags)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (watch->config.flags & policies[i].flag && flags & policies[i].first)
			return &policies[i];
	return NULL;
}

/* True: take it now. */
static bool cp_watch_rate(struct cp_watcher *watch, u64 now_ns)
{
	u64 next_ns = atomic64_read(&watch->next_ns);

	if (now_ns < next_ns)
		return false;
	return atomic64_cmpxchg(&watch->next_ns, next_ns,
				max(next_ns, now_ns - BURST_NS) + watch->interval_ns) == next_ns;
}

static struct cp_watch_slot *cp_watch_claim(struct cp_watcher *watch, u64 now_ns)
{
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		if (!slot->broken && atomic_cmpxchg(&slot->state, FREE, CLAIMED) == FREE)
			return slot;
	}
	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		if (slot->broken || atomic_read_acquire(&slot->state) != ARMED ||
		    now_ns - READ_ONCE(slot->armed_ns) < watch->timeout_ns ||
		    (s64)(now_ns - READ_ONCE(slot->armed_ns)) < 0)
			continue;
		if (atomic_cmpxchg(&slot->state, ARMED, CLAIMED) == ARMED) {
			atomic64_inc(&watch->expired);
			return slot;
		}
	}
	return NULL;
}

/*
 * The number of the page that current has at an address, and whether other processes can
 * have the same one: of a file, or of memory that is shared.
 */
static u64 cp_watch_page(u64 addr, bool *shared)
{
	struct page *page;
	u64 pfn = 0;

	*shared = false;
	pagefault_disable(); /* no fault can come; the page look-up wants it said */
	if (get_user_page_fast_only(addr & PAGE_MASK, 0, &page)) {
		struct folio *folio = page_folio(page);

		*shared = !folio_test_anon(folio) && folio->mapping;
		pfn = page_to_pfn(page);
		put_page(page);
	}
	pagefault_enable();
	return pfn;
}

bool cp_watch_offer(struct cp_hit *hit, const struct cp_access *access, u64 own_hit_ip)
{
	struct cp_watcher *watch = hit->src->session->watch;
	const struct cp_watch_policy *policy;
	struct cp_watch_slot *slot;

	if (!watch)
		return true;
	/* exec() gives a task another mm without a switch. */
	if (user_mode(hit->regs))
		WRITE_ONCE(this_cpu_ptr(watch->cpu)->mm, cp_watch_mm(current));
	policy = cp_watch_choose(watch, access->flags);
	if (!policy)
		return false;
	if (!cp_watch_rate(watch, hit->time_ns)) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_RATE);
		return true;
	}
	slot = cp_watch_claim(watch, hit->time_ns);
	if (!slot) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_BUSY);
		return true;
	}
	slot->policy = policy;
	slot->first = *access;
	cp_hit_head(hit, &slot->first.head, CP_REC_ACCESS);
	slot->mm = cp_watch_mm(current);
	slot->pfn = cp_watch_page(access->addr, &slot->shared);
	/* A read that is still to come does not fire a watch for writes. */
	slot->own_hit_ip = policy->type == X86_BREAKPOINT_RW || access->flags & CP_ACCESS_WRITE
				   ? own_hit_ip
				   : 0;
	slot->claimed_ns = hit->time_ns;
	irq_work_queue(&slot->arm);
	return true;
}

static void cp_watch_evidence(struct cp_watch_slot *slot, struct cp_hit *hit)
{
	struct cp_evidence *record = cp_ring_reserve(hit->ring, sizeof(*record));

	if (!record)
		return;
	memset(record, 0, sizeof(*record));
	cp_hit_head(hit, &record->head, CP_REC_WATCH);
	record->first.ip = slot->first.ip;
	record->first.addr = slot->first.addr;
	record->first.size_bytes = slot->first.size_bytes;
	record->first.flags = slot->first.flags;
	record->first.latency_cycles = slot->first.latency_cycles;
	record->first.data_src = slot->first.data_src;
	record->second.addr = cp_watch_place_addr(slot->place);
	record->second.size_bytes = cp_watch_place_bytes(slot->place);
	record->second.flags = slot->policy->second;
	if (user_mode(hit->regs)) {
		record->second.ip = hit->regs->ip;
		record->second.flags |= CP_ACCESS_IP_AFTER;
	} else {
		/* The kernel for the thread; its address is nobody's business. */
		record->second.flags |= CP_ACCESS_KERNEL;
	}
	record->first_ns = slot->first.head.time_ns;
	record->armed_ns = slot->armed_ns;
	record->first_tgid = slot->first.head.tgid;
	record->first_tid = slot->first.head.tid;
	memcpy(record->first_comm, slot->first.head.comm, sizeof(record->first_comm));
	cp_ring_commit(hit->ring, record, sizeof(*record));
}

/* Did current touch the datum, and not another one at its address? */
static bool cp_watch_is_touched(const struct cp_watch_slot *slot)
{
	bool shared;

	if (cp_watch_mm(current) == slot->mm)
		return true;
	return slot->shared && cp_watch_page(slot->first.addr, &shared) == slot->pfn && shared;
}

/*
 * What a trap means.  Whoever ends a watch tells nobody: the other CPUs' slots are moved
 * when they next have a task to look at, or park themselves at the trap that they cause
 * meanwhile, one each.
 */
static void cp_watch_judge(struct cp_watch_slot *slot, struct cp_hit *hit, bool allowed)
{
	struct cp_watcher *watch = slot->watch;
	struct cp_watch_cpu *here = this_cpu_ptr(watch->cpu);
	u64 place = here->placed[slot->index];
	bool touched;

	/* The processor may name a register that no longer stands where it was hit. */
	if (!place)
		return;
	/* Acquire: pairs with the release in cp_watch_arm(). */
	if (atomic_read_acquire(&slot->state) != ARMED || READ_ONCE(slot->place) != place) {
		atomic64_inc(&watch->foreign);
		cp_watch_park(here, slot->index, hit->regs);
		return;
	}
	touched = cp_watch_is_touched(slot);
	if (touched && slot->own_hit_ip && hit->regs->ip == slot->own_hit_ip &&
	    current->pid == slot->first.head.tid) {
		slot->own_hit_ip = 0;
		return;
	}
	cp_watch_park(here, slot->index, hit->regs);
	if (!touched) {
		/* The same address of another process, which pays for it. */
		atomic64_inc(&watch->foreign);
		if (atomic_inc_return(&slot->foreign) < FOREIGN_MAX)
			return;
	}
	if (atomic_cmpxchg(&slot->state, ARMED, HELD) != ARMED)
		return;
	if (slot->place != place || hit->time_ns < slot->armed_ns) {
		/* It was armed anew while we looked: not a hit of this watch. */
		atomic64_inc(&watch->foreign);
		atomic_set_release(&slot->state, ARMED);
		irq_work_queue(&here->again);
		return;
	}
	if (!touched) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_STORM);
	} else if (!allowed) {
		cp_ring_count(hit->ring, CP_LOST_BUDGET);
	} else if (!cp_targets_match(&watch->session->targets) ||
		   (!user_mode(hit->regs) && !(watch->config.flags & CP_WATCH_KERNEL))) {
		/* It was the next one, so nobody later is; but not to be told of. */
		atomic64_inc(&watch->foreign);
	} else {
		atomic64_inc(&watch->hits);
		cp_watch_evidence(slot, hit);
	}
	WRITE_ONCE(slot->place, 0);
	/* Release: pairs with the compare and exchange of the next claim. */
	atomic_set_release(&slot->state, FREE);
}

/* In the debug trap; the trapping instruction is done. */
static void cp_watch_trap(struct perf_event *bp, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	struct cp_watch_slot *slot = bp->overflow_handler_context;
	struct cp_session *session = slot->watch->session;
	struct cp_percpu *percpu = this_cpu_ptr(session->percpu);
	struct cp_src src = {.session = session, .id = slot->first.head.source};
	struct cp_hit hit = {
		.src = &src,
		.percpu = percpu,
		.regs = regs,
		.time_ns = ktime_get_mono_fast_ns(),
		.period = 1,
		.context = in_nmi() ? CP_CONTEXT_NMI : CP_CONTEXT_IRQ,
	};
	struct cp_meter *meter = &percpu->meter[hit.context];

	hit.ring = &percpu->ring[hit.context];
	if (!cp_ring_enter(hit.ring))
		return;
	cp_watch_judge(slot, &hit, cp_watch_may(slot->watch, meter, hit.time_ns));
	if (cp_ring_wakes(hit.ring))
		irq_work_queue(&session->wake);
	cp_budget_leave(&session->rule, meter, hit.time_ns, ktime_get_mono_fast_ns());
	cp_ring_leave(hit.ring);
}

void cp_watch_begin(struct cp_watcher *watch)
{
	u32 i;

	for (i = 0; i < watch->config.slots; i++)
		watch->slot[i].broken = false;
}

/* The breakpoints of one CPU, on their way there or back. */
struct cp_watch_events {
	struct cp_watcher *watch;
	unsigned int cpu;
	struct perf_event *bp[CP_MAX_SLOTS];
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
	u32 i;

	for (i = 0; i < CP_MAX_SLOTS; i++)
		if (events->bp[i])
			perf_event_release_kernel(events->bp[i]);
}

void cp_watch_open(struct cp_watcher *watch, unsigned int cpu)
{
	struct cp_watch_events events = {.watch = watch, .cpu = cpu};
	struct perf_event_attr attr;
	struct perf_event *bp;
	u32 i;

	/* The kernel's accesses trap whether asked for or not: better here than unseen. */
	hw_breakpoint_init(&attr);
	attr.bp_addr = PARKED_ADDR;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		bp = perf_event_create_kernel_counter(&attr, cpu, NULL, cp_watch_trap, slot);
		if (!IS_ERR(bp))
			events.bp[i] = bp;
		else if (PTR_ERR(bp) != -ENODEV) /* the CPU has just gone */
			/* Held by a debugger.  One blind CPU would bias the rest. */
			WRITE_ONCE(slot->broken, true);
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

void cp_watch_quiesce(struct cp_watcher *watch)
{
	unsigned int cpu;
	u32 i;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(watch->cpu, cpu)->again);
	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		irq_work_sync(&slot->arm);
		while (atomic_read(&slot->telling))
			usleep_range(50, 200);
		atomic_set(&slot->state, FREE);
		slot->place = 0;
	}
	synchronize_rcu(); /* the last cp_watch_told() has returned */
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

static int cp_watch_init(struct cp_watcher *watch)
{
	unsigned int cpu;
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		slot->watch = watch;
		slot->index = i;
		slot->arm = IRQ_WORK_INIT_HARD(cp_watch_arm);
	}
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

int cp_watch_create(struct cp_session *session, const struct cp_watch *config,
		    struct cp_watcher **ret)
{
	const u32 known = CP_WATCH_LOAD_THEN_WRITE | CP_WATCH_STORE_THEN_ACCESS | CP_WATCH_KERNEL;
	struct cp_watcher *watch;
	int err;

	*ret = NULL;
	if (config->flags & ~known || config->reserved)
		return -EINVAL;
	if (!config->flags)
		return config->slots || config->per_second || config->timeout_us ? -EINVAL : 0;
	if (!(config->flags & ~CP_WATCH_KERNEL) || !config->slots || config->slots > CP_MAX_SLOTS ||
	    !config->per_second || config->per_second > 100000 || !config->timeout_us)
		return -EINVAL;
	if (config->flags & CP_WATCH_KERNEL && !perfmon_capable())
		return -EPERM;
	watch = kzalloc(sizeof(*watch), GFP_KERNEL);
	if (!watch)
		return -ENOMEM;
	watch->session = session;
	watch->config = *config;
	watch->interval_ns = NSEC_PER_SEC / config->per_second;
	watch->timeout_ns = (u64)config->timeout_us * NSEC_PER_USEC;
	err = cp_watch_init(watch);
	if (err) {
		cp_watch_destroy(watch);
		return err;
	}
	*ret = watch;
	return 0;
}

void cp_watch_destroy(struct cp_watcher *watch)
{
	if (!watch)
		return;
	cp_watch_leave(watch);
	free_percpu(watch->cpu);
	kfree(watch);
}

void cp_watch_stats(struct cp_watcher *watch, struct cp_stats *stats)
{
	u32 i;

	if (!watch)
		return;
	stats->watch_armed = atomic64_read(&watch->armed);
	stats->watch_hits = atomic64_read(&watch->hits);
	stats->watch_expired = atomic64_read(&watch->expired);
	stats->watch_foreign = atomic64_read(&watch->foreign);
	stats->watch_missed = atomic64_read(&watch->missed);
	stats->arm_ns = atomic64_read(&watch->arm_ns);
	stats->arm_min_ns = atomic64_read(&watch->arm_min_ns);
	for (i = 0; i < watch->config.slots; i++)
		stats->watch_slots += !READ_ONCE(watch->slot[i].broken);
}
