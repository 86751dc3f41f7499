// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "session.h"
#include "watch.h"

enum slot_state { FREE, CLAIMED, ARMED, HIT };

enum {
	PARKED_ADDR = 8, /* below mmap_min_addr: a fault comes before a trap */
	FOREIGN_MAX = 16,
	BURST_NS = 50 * NSEC_PER_MSEC, /* what per_second may lag behind */
};

/* After which access to watch for what; the order is the order of preference. */
static const struct policy {
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
static u64 place(u64 addr, u32 bytes, u8 type)
{
	return addr | (u64)(bytes - 1) << 57 | (u64)type << 60;
}

static u64 place_addr(u64 place)
{
	return place & (BIT_ULL(57) - 1);
}

static u32 place_bytes(u64 place)
{
	return (place >> 57 & 7) + 1;
}

struct slot {
	struct cp_watcher *watch;
	atomic_t state;
	bool broken; /* some CPU has no room for it */
	u64 place;   /* 0: parked */
	const struct policy *policy;
	struct cp_access first;
	u64 own_hit_ip;
	u64 claimed_ns;
	u64 armed_ns;
	atomic_t foreign;
	atomic_t telling; /* CPUs on their way, and the teller */
	struct irq_work work;
	struct perf_event *__percpu *bp;
	call_single_data_t __percpu *csd;
};

struct cp_watcher {
	struct cp_session *session;
	struct cp_watch config;
	u64 interval_ns;
	u64 timeout_ns;
	atomic64_t next_ns; /* when per_second allows the next one */
	atomic64_t armed, hits, expired, foreign, missed, arm_ns, arm_min_ns;
	struct slot slot[CP_MAX_SLOTS];
};

/* On the breakpoint's CPU, interrupts off. */
static void move(struct perf_event *bp, u64 to)
{
	struct arch_hw_breakpoint *info = counter_arch_bp(bp);

	/* Not on the CPU just now (perf reschedules its events): it is re-added
	 * with the old address, which is seen by its hits and refused.
	 */
	if (bp->state != PERF_EVENT_STATE_ACTIVE)
		return;
	bp->pmu->del(bp, 0);
	info->address = to ? place_addr(to) : PARKED_ADDR;
	info->type = to ? to >> 60 : X86_BREAKPOINT_WRITE;
	switch (to ? place_bytes(to) : 8) {
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
	bp->pmu->add(bp, PERF_EF_START);
}

static void told(struct slot *slot)
{
	u64 claimed_ns = slot->claimed_ns, min_ns, ns;
	bool armed = READ_ONCE(slot->place);

	if (!atomic_dec_and_test(&slot->telling) || !armed)
		return;
	ns = ktime_get_mono_fast_ns() - claimed_ns;
	atomic64_add(ns, &slot->watch->arm_ns);
	min_ns = atomic64_read(&slot->watch->arm_min_ns);
	if (!min_ns || ns < min_ns)
		atomic64_set(&slot->watch->arm_min_ns, ns);
}

static void hear(void *data)
{
	struct slot *slot = data;
	struct perf_event *bp = *this_cpu_ptr(slot->bp);

	/* The place is read now, not when the message was sent: a message that
	 * was still under way when the next was refused carries both.
	 */
	if (bp)
		move(bp, READ_ONCE(slot->place));
	told(slot);
}

static void tell_all(struct slot *slot)
{
	unsigned int cpu, here = smp_processor_id();
	struct perf_event *bp = *this_cpu_ptr(slot->bp);

	atomic_inc(&slot->telling);
	/* The others first: they are the ones that are late. */
	for_each_online_cpu(cpu) {
		int err;

		if (cpu == here)
			continue;
		atomic_inc(&slot->telling);
		err = smp_call_function_single_async(cpu, per_cpu_ptr(slot->csd, cpu));
		if (!err)
			continue;
		atomic_dec(&slot->telling);
		if (err != -EBUSY)
			atomic64_inc(&slot->watch->missed);
	}
	if (bp)
		move(bp, READ_ONCE(slot->place));
	told(slot);
}

static void work(struct irq_work *work)
{
	struct slot *slot = container_of(work, struct slot, work);

	if (atomic_read(&slot->state) == CLAIMED) {
		u32 bytes = slot->first.size_bytes;
		u64 addr = slot->first.addr;

		if (!is_power_of_2(bytes) || bytes > 8 || addr & (bytes - 1)) {
			bytes = 8;
			addr &= ~7ULL;
		}
		WRITE_ONCE(slot->place, place(addr, bytes, slot->policy->type));
		slot->armed_ns = ktime_get_mono_fast_ns();
		atomic_set(&slot->foreign, 0);
		atomic64_inc(&slot->watch->armed);
		/* Release: a hit that finds ARMED finds all of the slot. */
		atomic_set_release(&slot->state, ARMED);
		tell_all(slot);
	} else {
		WRITE_ONCE(slot->place, 0);
		tell_all(slot);
		atomic_set_release(&slot->state, FREE);
	}
}

static const struct policy *choose(const struct cp_watcher *watch, u16 flags)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (watch->config.flags & policies[i].flag && flags & policies[i].first)
			return &policies[i];
	return NULL;
}

/* True: take it now. */
static bool rate(struct cp_watcher *watch, u64 now_ns)
{
	u64 next_ns = atomic64_read(&watch->next_ns);

	if (now_ns < next_ns)
		return false;
	return atomic64_cmpxchg(&watch->next_ns, next_ns,
				max(next_ns, now_ns - BURST_NS) + watch->interval_ns) == next_ns;
}

static struct slot *claim(struct cp_watcher *watch, u64 now_ns)
{
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		struct slot *slot = &watch->slot[i];

		if (!slot->broken && atomic_cmpxchg(&slot->state, FREE, CLAIMED) == FREE)
			return slot;
	}
	for (i = 0; i < watch->config.slots; i++) {
		struct slot *slot = &watch->slot[i];

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

bool cp_watch_offer(struct cp_hit *hit, const struct cp_access *access, u64 own_hit_ip)
{
	struct cp_watcher *watch = hit->src->session->watch;
	const struct policy *policy;
	struct slot *slot;

	if (!watch)
		return true;
	policy = choose(watch, access->flags);
	if (!policy)
		return false;
	if (!rate(watch, hit->time_ns)) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_RATE);
		return true;
	}
	slot = claim(watch, hit->time_ns);
	if (!slot) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_BUSY);
		return true;
	}
	slot->policy = policy;
	slot->first = *access;
	cp_hit_head(hit, &slot->first.head, CP_REC_ACCESS);
	/* A read that is still to come does not fire a watch for writes. */
	slot->own_hit_ip = policy->type == X86_BREAKPOINT_RW || access->flags & CP_ACCESS_WRITE
				   ? own_hit_ip
				   : 0;
	slot->claimed_ns = hit->time_ns;
	irq_work_queue(&slot->work);
	return true;
}

static void evidence(struct slot *slot, struct cp_hit *hit)
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
	record->second.addr = place_addr(slot->place);
	record->second.size_bytes = place_bytes(slot->place);
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

/* In the debug trap; the trapping instruction is done. */
static void trap(struct perf_event *bp, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct slot *slot = bp->overflow_handler_context;
	struct cp_watcher *watch = slot->watch;
	struct cp_session *session = watch->session;
	struct cp_percpu *percpu = this_cpu_ptr(session->percpu);
	struct cp_src here = {.session = session, .id = slot->first.head.source};
	struct cp_hit hit = {
		.src = &here,
		.percpu = percpu,
		.regs = regs,
		.time_ns = ktime_get_mono_fast_ns(),
		.period = 1,
		.context = in_nmi() ? CP_CONTEXT_NMI : CP_CONTEXT_IRQ,
	};
	struct cp_meter *meter = &percpu->meter[hit.context];
	u64 now_place = READ_ONCE(slot->place);
	bool ours;

	/* Acquire: pairs with the release in work(). */
	if (atomic_read_acquire(&slot->state) != ARMED ||
	    counter_arch_bp(bp)->address != place_addr(now_place)) {
		atomic64_inc(&watch->foreign);
		return;
	}
	ours = current->tgid == slot->first.head.tgid;
	if (ours && slot->own_hit_ip && regs->ip == slot->own_hit_ip &&
	    current->pid == slot->first.head.tid) {
		slot->own_hit_ip = 0;
		return;
	}
	hit.ring = &percpu->ring[hit.context];
	if (!ours) {
		/* The same address of another process, which pays for it. */
		atomic64_inc(&watch->foreign);
		if (atomic_inc_return(&slot->foreign) < FOREIGN_MAX)
			return;
	}
	if (!cp_ring_enter(hit.ring))
		return;
	cp_budget_enter(&session->rule, meter, hit.time_ns);
	if (atomic_cmpxchg(&slot->state, ARMED, HIT) == ARMED) {
		if (slot->place != now_place || hit.time_ns < slot->armed_ns) {
			/* It was armed anew while we looked: not a hit of this watch. */
			atomic64_inc(&watch->foreign);
		} else if (ours) {
			atomic64_inc(&watch->hits);
			evidence(slot, &hit);
		} else {
			cp_ring_count(hit.ring, CP_LOST_WATCH_STORM);
		}
		irq_work_queue(&slot->work);
	}
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

void cp_watch_open(struct cp_watcher *watch, unsigned int cpu)
{
	struct perf_event_attr attr;
	struct perf_event *bp;
	u32 i;

	hw_breakpoint_init(&attr);
	attr.bp_addr = PARKED_ADDR;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.exclude_kernel = !(watch->config.flags & CP_WATCH_KERNEL);
	for (i = 0; i < watch->config.slots; i++) {
		struct slot *slot = &watch->slot[i];

		bp = perf_event_create_kernel_counter(&attr, cpu, NULL, trap, slot);
		if (IS_ERR(bp)) {
			/* Held by a debugger.  One blind CPU would bias the rest. */
			WRITE_ONCE(slot->broken, true);
			continue;
		}
		WRITE_ONCE(*per_cpu_ptr(slot->bp, cpu), bp);
	}
}

void cp_watch_close(struct cp_watcher *watch, unsigned int cpu)
{
	struct perf_event *bp;
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		bp = xchg(per_cpu_ptr(watch->slot[i].bp, cpu), NULL);
		if (!bp)
			continue;
		/* hear() runs on that CPU with interrupts off: it is over, or has seen NULL. */
		synchronize_rcu();
		perf_event_release_kernel(bp);
	}
}

void cp_watch_quiesce(struct cp_watcher *watch)
{
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		struct slot *slot = &watch->slot[i];

		irq_work_sync(&slot->work);
		while (atomic_read(&slot->telling))
			usleep_range(50, 200);
		atomic_set(&slot->state, FREE);
		slot->place = 0;
	}
	synchronize_rcu(); /* the last told() has returned */
}

static int slot_init(struct cp_watcher *watch, struct slot *slot)
{
	unsigned int cpu;

	slot->watch = watch;
	slot->work = IRQ_WORK_INIT_HARD(work);
	slot->bp = alloc_percpu(struct perf_event *);
	slot->csd = alloc_percpu(call_single_data_t);
	if (!slot->bp || !slot->csd)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		INIT_CSD(per_cpu_ptr(slot->csd, cpu), hear, slot);
	return 0;
}

int cp_watch_create(struct cp_session *session, const struct cp_watch *config,
		    struct cp_watcher **ret)
{
	const u32 known = CP_WATCH_LOAD_THEN_WRITE | CP_WATCH_STORE_THEN_ACCESS | CP_WATCH_KERNEL;
	struct cp_watcher *watch;
	u32 i;

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
	for (i = 0; i < config->slots; i++) {
		if (slot_init(watch, &watch->slot[i])) {
			cp_watch_destroy(watch);
			return -ENOMEM;
		}
	}
	*ret = watch;
	return 0;
}

void cp_watch_destroy(struct cp_watcher *watch)
{
	u32 i;

	if (!watch)
		return;
	for (i = 0; i < CP_MAX_SLOTS; i++) {
		free_percpu(watch->slot[i].bp);
		free_percpu(watch->slot[i].csd);
	}
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
