// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "session.h"
#include "watch.h"
#include "watch_place.h"
#include "watch_window.h"

enum {
	FOREIGN_MAX = 16,
	BURST_NS = 50 * NSEC_PER_MSEC, /* what per_second may lag behind */
};

/* The order is the order of preference. */
static const struct cp_watch_policy policies[] = {
	{CP_WATCH_WINDOW, CP_ACCESS_READ, X86_BREAKPOINT_WRITE, CP_ACCESS_WRITE, true},
	{CP_WATCH_LOAD_THEN_WRITE, CP_ACCESS_READ, X86_BREAKPOINT_WRITE, CP_ACCESS_WRITE},
	{CP_WATCH_STORE_THEN_ACCESS, CP_ACCESS_WRITE, X86_BREAKPOINT_RW,
	 CP_ACCESS_READ | CP_ACCESS_WRITE | CP_ACCESS_EITHER},
};

static void cp_watch_free(struct cp_watch_slot *slot)
{
	WRITE_ONCE(slot->place, 0);
	/* Release: pairs with the compare and exchange of the next claim. */
	atomic_set_release(&slot->state, CP_WATCH_FREE);
}

/* From an interrupt of our own: there is no ring to tell it in, so it is counted. */
static void cp_watch_give_up(struct cp_watch_slot *slot, enum cp_watch_state state)
{
	atomic64_inc(&slot->watch->missed);
	if (atomic_cmpxchg(&slot->state, state, CP_WATCH_HELD) == state)
		cp_watch_free(slot);
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
	WRITE_ONCE(slot->refused, false);
	atomic_set(&slot->foreign, 0);
	atomic_set(&slot->telling, 1);
	/* Release: who sees the place sees whose it is. */
	smp_store_release(&slot->place, cp_watch_place(addr, bytes, slot->policy->type));
	/* Release: a trap that finds ARMED finds all of the slot. */
	atomic_set_release(&slot->state, CP_WATCH_ARMED);
	if (cp_watch_tell(slot))
		atomic64_inc(&watch->armed);
	else
		cp_watch_give_up(slot, CP_WATCH_ARMED);
	cp_watch_charge(watch, start_ns);
}

/* Its window is open: the read-write registers follow. */
static void cp_watch_widen(struct irq_work *work)
{
	struct cp_watch_slot *slot = container_of(work, struct cp_watch_slot, open);
	u64 start_ns = ktime_get_mono_fast_ns();

	if (!cp_watch_tell(slot))
		cp_watch_give_up(slot, CP_WATCH_OPEN);
	cp_watch_charge(slot->watch, start_ns);
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

static struct cp_watch_slot *cp_watch_claim_free(struct cp_watcher *watch)
{
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		if (slot->broken ||
		    atomic_cmpxchg(&slot->state, CP_WATCH_FREE, CP_WATCH_CLAIMED) != CP_WATCH_FREE)
			continue;
		if (!cp_watch_is_telling(slot))
			return slot;
		cp_watch_free(slot);
	}
	return NULL;
}

/* One that has waited too long, or whose window is over and nothing has trapped since. */
static struct cp_watch_slot *cp_watch_claim_expired(struct cp_watcher *watch, struct cp_hit *hit)
{
	u32 i;

	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];
		enum cp_window_end end = CP_WINDOW_END_TIME;
		int state = atomic_read_acquire(&slot->state);
		u64 end_ns;

		if (slot->broken || (state != CP_WATCH_ARMED && state != CP_WATCH_OPEN))
			continue;
		end_ns = state == CP_WATCH_OPEN ? cp_watch_window_end_ns(slot)
						: READ_ONCE(slot->armed_ns) + watch->timeout_ns;
		if (hit->time_ns < end_ns ||
		    atomic_cmpxchg(&slot->state, state, CP_WATCH_CLAIMED) != state)
			continue;
		if (cp_watch_is_telling(slot)) {
			atomic_set_release(&slot->state, state);
			continue;
		}
		if (state == CP_WATCH_ARMED)
			end = CP_WINDOW_END_UNWRITTEN;
		if (READ_ONCE(slot->refused)) {
			cp_ring_count(hit->ring, CP_LOST_BUDGET);
			end = CP_WINDOW_END_BUDGET;
		} else if (state == CP_WATCH_ARMED) {
			atomic64_inc(&watch->expired);
		}
		if (slot->policy->window)
			cp_watch_window_close(slot, hit, end);
		return slot;
	}
	return NULL;
}

/* Windows that are over come first: they have something to tell. */
static struct cp_watch_slot *cp_watch_claim(struct cp_watcher *watch, struct cp_hit *hit)
{
	bool windows = watch->config.flags & CP_WATCH_WINDOW;
	struct cp_watch_slot *slot = windows ? cp_watch_claim_expired(watch, hit) : NULL;

	if (!slot)
		slot = cp_watch_claim_free(watch);
	if (!slot && !windows)
		slot = cp_watch_claim_expired(watch, hit);
	return slot;
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
		WRITE_ONCE(this_cpu_ptr(watch->cpu)->mm, cp_target_mm(current));
	policy = cp_watch_choose(watch, access->flags);
	if (!policy)
		return false;
	if (!cp_watch_rate(watch, hit->time_ns)) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_RATE);
		return true;
	}
	slot = cp_watch_claim(watch, hit);
	if (!slot) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_BUSY);
		return true;
	}
	slot->policy = policy;
	slot->first = *access;
	cp_hit_head(hit, &slot->first.head, CP_REC_ACCESS);
	slot->mm = cp_target_mm(current);
	slot->pfn = cp_watch_page(access->addr, &slot->shared);
	/* A read that is still to come does not fire a watch for writes. */
	slot->own_hit_ip = policy->type == X86_BREAKPOINT_RW || access->flags & CP_ACCESS_WRITE
				   ? own_hit_ip
				   : 0;
	slot->claimed_ns = hit->time_ns;
	slot->window.written_ns = 0;
	slot->window.opened_ns = 0;
	irq_work_queue(&slot->arm);
	return true;
}

void cp_watch_evidence(const struct cp_watch_slot *slot, struct cp_hit *hit, u16 type,
		       const struct cp_access *first, u16 flags)
{
	struct cp_evidence *record = cp_ring_reserve(hit->ring, sizeof(*record));

	if (!record)
		return;
	memset(record, 0, sizeof(*record));
	cp_hit_head(hit, &record->head, type);
	record->first.ip = first->ip;
	record->first.addr = first->addr;
	record->first.size_bytes = first->size_bytes;
	record->first.flags = first->flags;
	record->first.latency_cycles = first->latency_cycles;
	record->first.data_src = first->data_src;
	record->second.addr = cp_watch_place_addr(slot->place);
	record->second.size_bytes = cp_watch_place_bytes(slot->place);
	record->second.flags = flags;
	if (user_mode(hit->regs)) {
		record->second.ip = hit->regs->ip;
		record->second.flags |= CP_ACCESS_IP_AFTER;
	} else {
		/* The kernel for the thread; its address is nobody's business. */
		record->second.flags |= CP_ACCESS_KERNEL;
	}
	record->first_ns = first->head.time_ns;
	record->armed_ns = type == CP_REC_PAIR ? slot->window.opened_ns : slot->armed_ns;
	record->first_tgid = first->head.tgid;
	record->first_tid = first->head.tid;
	memcpy(record->first_comm, first->head.comm, sizeof(record->first_comm));
	cp_ring_commit(hit->ring, record, sizeof(*record));
}

/* Did current touch the datum, and not another one at its address? */
static bool cp_watch_is_touched(const struct cp_watch_slot *slot)
{
	bool shared;

	if (cp_target_mm(current) == slot->mm)
		return true;
	return slot->shared && cp_watch_page(slot->first.addr, &shared) == slot->pfn && shared;
}

/* What a trap that holds the slot does to it.  True: the watch goes on, in its window. */
static bool cp_watch_advance(struct cp_watch_slot *slot, struct cp_hit *hit,
			     enum cp_watch_state state, u16 flags, enum cp_window_end *end)
{
	struct cp_watcher *watch = slot->watch;

	if (!cp_targets_match(&watch->session->targets) ||
	    (!user_mode(hit->regs) && !(watch->config.flags & CP_WATCH_KERNEL))) {
		/* It was the next one, so nobody later is; but not to be told of. */
		atomic64_inc(&watch->foreign);
		*end = CP_WINDOW_END_STRANGER;
		return false;
	}
	atomic64_inc(&watch->hits);
	if (state == CP_WATCH_OPEN)
		return cp_watch_window_take(slot, hit, flags, end);
	cp_watch_evidence(slot, hit, CP_REC_WATCH, &slot->first, flags);
	if (!slot->policy->window)
		return false;
	cp_watch_window_open(slot, hit, flags);
	atomic_add(CP_WATCH_OPENING + 1, &slot->telling);
	/* Release: who sees it sees the window begun. */
	smp_store_release(&slot->place, slot->place | CP_WATCH_IN_WINDOW);
	irq_work_queue(&slot->open);
	return true;
}

/*
 * What a trap means.  Whoever ends a watch tells nobody: the other CPUs' slots are moved
 * when they next have a task to look at, or park themselves at the trap that they cause
 * meanwhile, one each.
 */
static void cp_watch_judge(struct cp_watch_slot *slot, struct cp_hit *hit, u16 flags, bool allowed)
{
	struct cp_watcher *watch = slot->watch;
	struct cp_watch_cpu *here = this_cpu_ptr(watch->cpu);
	u64 place = here->placed[slot->index];
	enum cp_window_end end = CP_WINDOW_END_STORM;
	bool touched, elsewhere, goes_on = false;
	int state;

	/* The processor may name a register that no longer stands where it was hit. */
	if (!place)
		return;
	/* Acquire: pairs with the release in cp_watch_arm(). */
	state = atomic_read_acquire(&slot->state);
	elsewhere = (READ_ONCE(slot->place) ^ place) & ~CP_WATCH_IN_WINDOW;
	if (state == CP_WATCH_HELD && !elsewhere && slot->policy->window) {
		cp_watch_window_miss(slot, flags);
		return;
	}
	if (elsewhere || (state != CP_WATCH_ARMED && state != CP_WATCH_OPEN)) {
		atomic64_inc(&watch->foreign);
		cp_watch_move(here, slot->index, 0, hit->regs);
		return;
	}
	touched = cp_watch_is_touched(slot);
	if (touched && slot->own_hit_ip && hit->regs->ip == slot->own_hit_ip &&
	    current->pid == slot->first.head.tid && state == CP_WATCH_ARMED) {
		slot->own_hit_ip = 0;
		return;
	}
	if (touched && state == CP_WATCH_ARMED && !(flags & slot->policy->second)) {
		/*
		 * A read, by the read-write register of a window that is over: this CPU has
		 * not heard yet that the datum is watched anew, for a write.
		 */
		atomic64_inc(&watch->foreign);
		cp_watch_move(here, slot->index, READ_ONCE(slot->place), hit->regs);
		return;
	}
	if (!touched) {
		/* The same address of another process, which pays for it. */
		atomic64_inc(&watch->foreign);
		cp_watch_move(here, slot->index, 0, hit->regs);
		if (atomic_inc_return(&slot->foreign) < FOREIGN_MAX)
			return;
	}
	if (atomic_cmpxchg(&slot->state, state, CP_WATCH_HELD) != state) {
		if (slot->policy->window)
			cp_watch_window_miss(slot, flags);
		else
			cp_watch_move(here, slot->index, 0, hit->regs);
		return;
	}
	if ((slot->place ^ place) & ~CP_WATCH_IN_WINDOW || hit->time_ns < slot->armed_ns) {
		/* It was armed anew while we looked: not a hit of this watch. */
		atomic64_inc(&watch->foreign);
		atomic_set_release(&slot->state, state);
		return;
	}
	if (!touched) {
		cp_ring_count(hit->ring, CP_LOST_WATCH_STORM);
	} else if (!allowed || READ_ONCE(slot->refused)) {
		cp_ring_count(hit->ring, CP_LOST_BUDGET);
		end = CP_WINDOW_END_BUDGET;
	} else {
		goes_on = cp_watch_advance(slot, hit, state, flags, &end);
	}
	if (goes_on) {
		atomic_set_release(&slot->state, CP_WATCH_OPEN);
		return;
	}
	if (slot->policy->window)
		cp_watch_window_close(slot, hit, end);
	cp_watch_move(here, slot->index, 0, hit->regs);
	cp_watch_free(slot);
}

/*
 * Which of a window's two registers trapped?  A write traps by both, and the first one's
 * handler is called first: the second one's handler, if called for the same instruction,
 * is told nothing new.  Flags 0: such a one.
 */
static u16 cp_watch_direction(struct cp_watch_cpu *here, const struct cp_watch_slot *slot,
			      const struct perf_event *bp, const struct pt_regs *regs)
{
	u32 i = slot->index;
	bool same;

	if (bp != here->bp[i][1]) {
		if (slot->watch->config.flags & CP_WATCH_WINDOW) {
			here->wrote_by[i] = current;
			here->wrote_ip[i] = regs->ip;
		}
		return slot->policy->second;
	}
	same = here->wrote_by[i] == current && here->wrote_ip[i] == regs->ip;
	here->wrote_by[i] = NULL;
	return same ? 0 : CP_ACCESS_READ;
}

/* In the debug trap; the trapping instruction is done. */
static void cp_watch_trap(struct perf_event *bp, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	struct cp_watch_slot *slot = bp->overflow_handler_context;
	u16 flags = cp_watch_direction(this_cpu_ptr(slot->watch->cpu), slot, bp, regs);
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
	if (!flags || !cp_ring_enter(hit.ring))
		return;
	cp_watch_judge(slot, &hit, flags, cp_watch_may(slot->watch, meter, hit.time_ns));
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

void cp_watch_quiesce(struct cp_watcher *watch)
{
	unsigned int cpu;
	u32 i;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(watch->cpu, cpu)->again);
	for (i = 0; i < watch->config.slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		irq_work_sync(&slot->arm);
		irq_work_sync(&slot->open);
		while (cp_watch_is_telling(slot))
			usleep_range(50, 200);
		atomic_set(&slot->state, CP_WATCH_FREE);
		slot->place = 0;
	}
	synchronize_rcu(); /* the last cp_watch_told() has returned */
}

int cp_watch_create(struct cp_session *session, const struct cp_watch *config,
		    struct cp_watcher **ret)
{
	const u32 single = CP_WATCH_LOAD_THEN_WRITE | CP_WATCH_STORE_THEN_ACCESS;
	bool window = config->flags & CP_WATCH_WINDOW;
	u32 most = window ? CP_MAX_SLOTS / 2 : CP_MAX_SLOTS;
	struct cp_watcher *watch;
	int err;
	u32 i;

	*ret = NULL;
	if (config->flags & ~(single | CP_WATCH_KERNEL | CP_WATCH_WINDOW) ||
	    window != !!config->window_us || (window && config->flags & single))
		return -EINVAL;
	if (!config->flags)
		return config->slots || config->per_second || config->timeout_us ? -EINVAL : 0;
	if (!(config->flags & ~CP_WATCH_KERNEL) || !config->slots || config->slots > most ||
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
	watch->window_ns = (u64)config->window_us * NSEC_PER_USEC;
	for (i = 0; i < config->slots; i++) {
		struct cp_watch_slot *slot = &watch->slot[i];

		slot->watch = watch;
		slot->index = i;
		slot->policy = &policies[0];
		slot->arm = IRQ_WORK_INIT_HARD(cp_watch_arm);
		slot->open = IRQ_WORK_INIT_HARD(cp_watch_widen);
	}
	err = cp_watch_place_init(watch, cp_watch_trap);
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
	cp_watch_place_deinit(watch);
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
