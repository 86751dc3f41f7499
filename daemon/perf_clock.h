/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's own clock in terms of CLOCK_MONOTONIC.  An event may be asked for the latter,
 * but PEBS records, which have the processor's time stamps, are then written one per
 * interrupt (use_clockid in arch/x86/events/intel/core.c).  Both clocks are read at
 * one instant, now and then; between two such anchors the conversion is linear.
 *
 * perf's clock is computed from the time stamp counter as the mmap page says
 * (perf_event_open(2), time_zero).  One thread uses it.
 */
#ifndef COMM_PERF_CLOCK_H
#define COMM_PERF_CLOCK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct comm_perf_clock {
	uint64_t perf_ns[2], mono_ns[2]; /* the last two anchors; 0: none yet */
};

/* False: this kernel's perf clock cannot be read here (a paravirtual or unstable clock). */
bool comm_perf_clock_now(const struct perf_event_mmap_page *page, uint64_t *ret_ns);
/* Takes an anchor; does nothing where the clock cannot be read. */
void comm_perf_clock_read(struct comm_perf_clock *clock, const struct perf_event_mmap_page *page);
/* Both clocks showed this at one instant, later than the anchors before. */
void comm_perf_clock_anchor(struct comm_perf_clock *clock, uint64_t perf_ns, uint64_t mono_ns);
/* Of a time near the anchors.  There is at least one. */
uint64_t comm_perf_clock_mono(const struct comm_perf_clock *clock, uint64_t perf_ns);

#endif
