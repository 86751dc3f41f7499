/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look timeline: which threads of a process ran when, from the switches of the time in which its
 * words are looked at.  A bounded log of switches, of which a window has its threads' intervals
 * computed when it ends.  Not for the engine, which has the source's own switches.
 *
 * Switches of one CPU come in order.  One thread uses it.
 */
#ifndef COMM_LOOK_TIMELINE_H
#define COMM_LOOK_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm_look_timeline;

struct comm_look_switch {
	uint64_t time_ns;			 /* until then .tid ran */
	uint64_t came_ns;			 /* from then on .next_tid runs */
	uint32_t tgid, tid, next_tgid, next_tid; /* 0: of no process that is looked at */
	uint32_t cpu;
	bool goes_on; /* no switch: .tid runs, before and after */
};

struct comm_look_interval {
	uint64_t from_ns, to_ns;
	uint32_t tid;
};

/* capacity: switches that are kept. */
int comm_look_timeline_create(uint32_t n_cpus, size_t capacity, struct comm_look_timeline **ret);
void comm_look_timeline_destroy(struct comm_look_timeline *timeline);

/* False: there is no room. */
bool comm_look_timeline_add(struct comm_look_timeline *timeline, const struct comm_look_switch *s);
/* Counts all switches that were ever added. */
uint64_t comm_look_timeline_position(const struct comm_look_timeline *timeline);
/* Switches before that position are needed no more. */
void comm_look_timeline_forget(struct comm_look_timeline *timeline, uint64_t position);

/*
 * The intervals, cut where a thread goes on, in which threads of the process ran in [from_ns, to_ns], by their beginnings; *ret is
 * valid until the next call.  position: as of from_ns.  The process was looked at all the time
 * since, so who leaves without having come was there before.  Returns how many, or -ENOMEM.
 */
int comm_look_timeline_threads(struct comm_look_timeline *timeline, uint32_t tgid,
			       uint64_t position, uint64_t from_ns, uint64_t to_ns,
			       const struct comm_look_interval **ret);

#endif
