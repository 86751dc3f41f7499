/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The precise memory events of this machine: what to write into perf_event_attr for a
 * sample of the loads and stores that retire, with their addresses.  Knows encodings
 * only; whether the kernel grants them shows when they are opened.
 *
 * It has only events that count every load or store, so that each sample stands for a
 * period of them.  Latency events (mem-loads) pick loads at random instead, and
 * cannot be scaled.
 */
#ifndef COMM_PMU_EVENT_H
#define COMM_PMU_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMM_PMU_EVENTS = 4 }; /* two PMUs of a hybrid machine, loads and stores */

enum comm_pmu_want {
	COMM_PMU_ACCESSES, /* every load and store */
	/*
	 * Of the loads only those that met a line which another core had written and
	 * still held; every store.  What was written back meanwhile, or is written by
	 * a thread of the same core, is not among them.
	 */
	COMM_PMU_TRANSFERS,
};

#define COMM_PMU_SYSFS "/sys/bus/event_source/devices"

struct comm_pmu_event {
	char name[48]; /* "cpu_core/loads/" */
	uint32_t type;
	uint64_t config, config1, config2;
	uint16_t ways;	  /* COMM_ACCESS_READ or COMM_ACCESS_WRITE; 0: the sample says */
	bool ibs;	  /* AMD: loads and stores in one event, period a multiple of 16 */
	bool user_filter; /* ibs: the kernel can leave out samples of kernel code */
};

/*
 * sysfs: COMM_PMU_SYSFS, or a copy of it.  Returns how many, or -errno and a
 * sentence (malloc'ed).
 */
int comm_pmu_events(const char *sysfs, enum comm_pmu_want want,
		    struct comm_pmu_event ret[COMM_PMU_EVENTS], char **err);

#endif
