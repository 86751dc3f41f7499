// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched.h>

#include "session.h"
#include "watch_window.h"

enum { EARLY_MAX = 4 * CP_WINDOW_ACCESSES };

static void cp_watch_window_last(struct cp_watch_slot *slot, const struct cp_hit *hit, u16 flags)
{
	struct cp_access *last = &slot->window.last;

	memset(last, 0, sizeof(*last));
	cp_hit_head(hit, &last->head, CP_REC_ACCESS);
	last->addr = cp_watch_place_addr(slot->place);
	last->size_bytes = cp_watch_place_bytes(slot->place);
	last->flags = flags;
	if (user_mode(hit->regs)) {
		last->ip = hit->regs->ip;
		last->flags |= CP_ACCESS_IP_AFTER;
	} else {
		last->flags |= CP_ACCESS_KERNEL;
	}
}

void cp_watch_window_open(struct cp_watch_slot *slot, const struct cp_hit *hit, u16 flags)
{
	struct cp_watch_window *window = &slot->window;

	cp_watch_window_last(slot, hit, flags);
	window->written_ns = hit->time_ns;
	window->reads = 0;
	window->writes = 0;
	window->early = 0;
	window->blind = false;
	atomic_set(&window->missed, 0);
}

bool cp_watch_window_take(struct cp_watch_slot *slot, struct cp_hit *hit, u16 flags,
			  enum cp_window_end *end)
{
	struct cp_watch_window *window = &slot->window;
	u64 opened_ns = READ_ONCE(window->opened_ns);
	bool open = opened_ns && hit->time_ns >= opened_ns;
	/* A CPU that trapped later came first to the slot: what was read is not its write. */
	bool late = hit->time_ns < window->last.head.time_ns;

	*end = CP_WINDOW_END_TIME;
	if (open && hit->time_ns - opened_ns >= slot->watch->window_ns)
		return false;
	if (READ_ONCE(window->blind) || late) {
		WRITE_ONCE(window->blind, false);
		memset(&window->last, 0, sizeof(window->last));
	}
	if (open) {
		if (flags & CP_ACCESS_WRITE)
			window->writes++;
		else
			window->reads++;
		cp_watch_evidence(slot, hit, CP_REC_PAIR, &window->last, flags);
	} else {
		window->early++;
	}
	if (flags & CP_ACCESS_WRITE && !late)
		cp_watch_window_last(slot, hit, flags);
	*end = CP_WINDOW_END_FULL;
	return window->reads + window->writes < CP_WINDOW_ACCESSES && window->early < EARLY_MAX;
}

void cp_watch_window_miss(struct cp_watch_slot *slot, u16 flags)
{
	atomic_inc(&slot->window.missed);
	if (flags & CP_ACCESS_WRITE)
		WRITE_ONCE(slot->window.blind, true);
}

u64 cp_watch_window_end_ns(const struct cp_watch_slot *slot)
{
	u64 opened_ns = READ_ONCE(slot->window.opened_ns);

	/* Should it never open, for a CPU that went away, its time is over all the same. */
	return opened_ns ? opened_ns + slot->watch->window_ns
			 : READ_ONCE(slot->window.written_ns) + slot->watch->timeout_ns +
				   slot->watch->window_ns;
}

void cp_watch_window_close(struct cp_watch_slot *slot, struct cp_hit *hit, enum cp_window_end end)
{
	struct cp_window *record = cp_ring_reserve(hit->ring, sizeof(*record));
	const struct cp_watch_window *window = &slot->window;
	u64 opened_ns = READ_ONCE(window->opened_ns);

	if (!record)
		return;
	memset(record, 0, sizeof(*record));
	cp_hit_head(hit, &record->head, CP_REC_WINDOW);
	record->head.source = slot->first.head.source;
	record->head.tgid = slot->first.head.tgid;
	record->head.tid = slot->first.head.tid;
	record->head.period = slot->first.head.period;
	memcpy(record->head.comm, slot->first.head.comm, sizeof(record->head.comm));
	record->addr = slot->first.addr;
	record->size_bytes = slot->first.size_bytes;
	record->first_ns = slot->first.head.time_ns;
	record->armed_ns = slot->armed_ns;
	record->closed_ns = hit->time_ns;
	record->end = end;
	if (window->written_ns) {
		record->written_ns = window->written_ns;
		record->opened_ns = opened_ns;
		record->reads = window->reads;
		record->writes = window->writes;
		record->missed = atomic_read(&window->missed);
		if (end == CP_WINDOW_END_TIME && opened_ns)
			record->closed_ns = opened_ns + slot->watch->window_ns;
	}
	cp_ring_commit(hit->ring, record, sizeof(*record));
}
