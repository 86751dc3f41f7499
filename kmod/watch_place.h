/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where watchpoints stand: slots, which have a place, and the debug registers of each
 * CPU, which follow the slots while the CPU runs a task that can touch the datum.  For
 * watch.c and watch_window.c alone, which say when a slot gets a place and what a trap
 * means.
 */
#ifndef CP_WATCH_PLACE_H
#define CP_WATCH_PLACE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/irq_work.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "commprof.h"
#include "source.h"

struct cp_watcher;

/* After which access to watch for what. */
struct cp_watch_policy {
	u32 flag;
	u16 first;
	u8 type; /* of the debug register */
	u16 second;
	bool window; /* then a read-write window, with a second register */
};

/*
 * The window of a slot: written by whoever holds the slot (CP_WATCH_HELD), but for what
 * says otherwise.
 */
struct cp_watch_window {
	struct cp_access last; /* the last write that was seen; tid 0: it was not seen */
	u64 written_ns;
	u64 opened_ns; /* 0: not yet; by cp_watch_told() */
	u32 reads;
	u32 writes;
	u32 early;
	atomic_t missed; /* by traps that found the slot held */
	bool blind;	 /* one of them was a write */
};

enum cp_watch_state {
	CP_WATCH_FREE,
	CP_WATCH_CLAIMED,
	CP_WATCH_ARMED,
	CP_WATCH_OPEN, /* its window */
	CP_WATCH_HELD, /* by a trap */
};

struct cp_watch_slot {
	struct cp_watcher *watch;
	u32 index;
	bool broken;  /* some CPU has no room for it */
	bool refused; /* a CPU that wants it may not follow, for the cap: it misses accesses */
	atomic_t state;
	u64 place; /* 0: parked */
	u64 mm;	   /* cp_target_mm() of the sampled task */
	u64 pfn;   /* the datum's page, for other processes that map it */
	bool shared;
	const struct cp_watch_policy *policy;
	struct cp_access first;
	u64 own_hit_ip;
	u64 claimed_ns;
	u64 armed_ns;
	atomic_t foreign;
	atomic_t telling; /* CPUs on their way, and tellers; CP_WATCH_OPENING besides */
	struct irq_work arm;
	struct irq_work open;
	struct cp_watch_window window;
};

/*
 * What a CPU runs and what its debug registers hold.  Written by that CPU alone, with
 * interrupts off; others read mm and task, and set bits in news.
 */
struct cp_watch_cpu {
	u64 mm; /* of the task that runs; 0: a kernel thread */
	struct task_struct *task;
	u64 placed[CP_MAX_SLOTS]; /* 0: parked */
	/* A slot's register; and its read-write register, if there are windows. */
	struct perf_event *bp[CP_MAX_SLOTS][2];
	/* The write that the first register has just told, before the second tells it too. */
	struct task_struct *wrote_by[CP_MAX_SLOTS];
	u64 wrote_ip[CP_MAX_SLOTS];
	struct irq_work again;
	atomic_t pending; /* a bit for each slot: a message with it is under way */
	call_single_data_t csd;
};

struct cp_watcher {
	struct cp_session *session;
	struct cp_watch config;
	perf_overflow_handler_t trap;
	struct hlist_node node; /* of all watchers */
	u64 interval_ns;
	u64 timeout_ns;
	u64 window_ns;
	atomic64_t next_ns; /* when per_second allows the next one */
	atomic64_t armed, hits, expired, foreign, missed, arm_ns, arm_min_ns;
	struct cp_watch_slot slot[CP_MAX_SLOTS];
	struct cp_watch_cpu __percpu *cpu;
};

#define CP_WATCH_IN_WINDOW BIT_ULL(62) /* of a place: the second register stands as well */
#define CP_WATCH_OPENING BIT(16)       /* of telling: it is about the window */

/* A place is one word, so that no CPU ever sees half of a change. */
static inline u64 cp_watch_place(u64 addr, u32 bytes, u8 type)
{
	return addr | (u64)(bytes - 1) << 57 | (u64)type << 60;
}

static inline u64 cp_watch_place_addr(u64 place)
{
	return place & (BIT_ULL(57) - 1);
}

static inline u32 cp_watch_place_bytes(u64 place)
{
	return (place >> 57 & 7) + 1;
}

static inline u8 cp_watch_place_type(u64 place)
{
	return place >> 60 & 3;
}

/* All of these with interrupts off. */

/* Gives this CPU's registers of a slot their place. */
void cp_watch_set(struct cp_watch_cpu *here, u32 slot, u64 place);
/* Moves a slot of this CPU from its trap; place 0 parks it. */
void cp_watch_move(struct cp_watch_cpu *here, u32 slot, u64 place, struct pt_regs *regs);
/*
 * The place of a slot is new: all CPUs that run a task which wants it are sent a
 * message, this one follows at once.  False: one of them cannot be told.  Whoever made
 * the place has counted the teller in slot->telling before anybody could see it.
 */
bool cp_watch_tell(struct cp_watch_slot *slot);

/* Is anybody still to hear or to tell of its place?  Until then it gets no other watch. */
static inline bool cp_watch_is_telling(const struct cp_watch_slot *slot)
{
	/* Acquire: pairs with cp_watch_told(), which is through with the slot. */
	return atomic_read_acquire(&slot->telling) & ~CP_WATCH_OPENING;
}

/* Tells of a hit: type is CP_REC_WATCH or CP_REC_PAIR, flags those of the later access. */
void cp_watch_evidence(const struct cp_watch_slot *slot, struct cp_hit *hit, u16 type,
		       const struct cp_access *first, u16 flags);

/* May what costs time go on?  A refusal does not make the next sample later. */
bool cp_watch_may(struct cp_watcher *watch, struct cp_meter *meter, u64 now_ns);
/* What an interrupt took that is due whatever the verdict, so that nothing is asked. */
void cp_watch_charge(struct cp_watcher *watch, u64 start_ns);

/* From init to deinit the switches are followed. */
int cp_watch_place_init(struct cp_watcher *watch, perf_overflow_handler_t trap);
void cp_watch_place_deinit(struct cp_watcher *watch);

#endif
