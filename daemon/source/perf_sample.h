/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sample in perf's ring: IP, TID, TIME, CPU, PERIOD, REGS_USER and STACK_USER,
 * in this order (perf_event_open(2)), with the registers below.
 */
#ifndef COMMD_PERF_SAMPLE_H
#define COMMD_PERF_SAMPLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* For sample_regs_user. */
extern const uint64_t comm_perf_sample_regs;

/* As the kernel lays it out, behind the header and up to the registers. */
struct comm_perf_sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, zero;
	uint64_t period, abi;
};

/* False: not a sample of user code, or one without user registers (a kernel thread). */
bool comm_perf_sample_head(const struct perf_event_header *record, struct comm_perf_sample *ret);
/* Is it as long as what it says to be takes?  The kernel writes no other. */
bool comm_perf_sample_whole(const struct perf_event_header *record);
/* Registers and stack of a record that has a head; the period is left alone. */
void comm_perf_sample_state(const struct perf_event_header *record, struct comm_sample *ret);

#endif
