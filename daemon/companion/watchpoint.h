/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watchpoints from user space, for sources that have none of their own: after a
 * thread was seen to read a datum, which threads write it next?  A debug register of
 * every CPU is aimed at the datum's address; of the first three writes by threads of targets
 * one is the answer, and no write for a while is one too.  Which reads are watched is drawn, and each
 * answer says how many bytes it stands for; docs/watched.md has the method.
 *
 * Tens of milliseconds pass between the read and the start of the watch, so the two
 * accesses are not consecutive (those of the kernel module are): an answer tells
 * which thread writes what this thread reads.
 *
 * Breakpoints by linux/hw_breakpoint.h, seen through perf.  One thread uses it.
 */
#ifndef COMM_WATCHPOINT_H
#define COMM_WATCHPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "burst.h"
#include "merge.h"
#include "target.h"

struct comm_watchpoints;

struct comm_watchpoint_config {
	const struct comm_target *target;
	uint32_t per_s;	      /* watches begun per second, at most */
	uint32_t slots;	      /* debug registers of each CPU to take, as far as they are free */
	uint32_t datum_bytes; /* bytes watched around a read, up to 8 */
	double trap_ns;	      /* what a trap costs the target */
	enum comm_trigger trigger; /* unit of samples' periods */
	/* Is a process's address in memory that it may share with others?  NULL: all is. */
	bool (*is_shared)(void *ctx, uint32_t tgid, uint64_t addr);
	void *shared_ctx;
};

struct comm_watchpoint_stats {
	uint64_t armed, hits, expired;
	uint64_t traps;
	uint64_t foreign; /* of these, of processes that have other data at the same address */
	uint64_t trap_ns; /* the target's time lost to traps and to setting watches */
	uint64_t set_ns;  /* time with debug registers set, for one watch or more */
	uint64_t own_ns;  /* CPU time of the daemon's thread */
};

/* Can watchpoints be used here and now?  *why: a sentence, malloc'ed: why not, or how many. */
int comm_watchpoint_probe(char **why);
/* Opens all file descriptors, so that no privilege is needed later. */
int comm_watchpoint_create(const struct comm_watchpoint_config *config,
			   struct comm_watchpoints **ret, char **err);
void comm_watchpoint_destroy(struct comm_watchpoints *watch);

/* The reads of a burst are candidates; event is its sample. */
void comm_watchpoint_offer(struct comm_watchpoints *watch, const struct comm_event *event,
			   const struct comm_burst *burst);
/*
 * Pushes the watches that ended since the last call as COMM_EV_WATCH events;
 * second.flags 0: no thread wrote until the watch expired.
 */
void comm_watchpoint_collect(struct comm_watchpoints *watch, uint64_t now_ns, comm_event_fn *push,
			     void *ctx);
/*
 * Ends a turn: begins watches of reads offered since the last call, as far as slots, per_s and
 * may_begin allow.
 */
void comm_watchpoint_arm(struct comm_watchpoints *watch, uint64_t now_ns, bool may_begin);
/*
 * Interval of arm() with which per_s can be reached, ms; INT_MAX while nothing is watched:
 * what there is to watch comes with events, which wake up the caller anyway.
 */
int comm_watchpoint_turn_ms(const struct comm_watchpoints *watch);
void comm_watchpoint_stats(const struct comm_watchpoints *watch, struct comm_watchpoint_stats *ret);

#endif
