/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event of perf on each online CPU, each with a period of its own.  The sampler
 * that owns it defines what happens when it fires and where its records go.  One
 * thread uses it.
 */
#ifndef COMM_CPU_EVENTS_H
#define COMM_CPU_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler.h"

struct comm_cpu_events {
	const char *name;    /* of the event, in error messages */
	unsigned int n_cpus; /* possible CPUs */
	unsigned int n_open;
	bool enabled;
	int *fd; /* by CPU; -1: offline, or not opened */
	uint64_t *period;
	uint64_t opened_period; /* that of all at first */
	uint64_t lost;		/* by those of CPUs that went offline */
};

/* Opens nothing yet.  -ENOMEM. */
int comm_cpu_events_init(struct comm_cpu_events *events, unsigned int n_cpus);
/* Closes all; *events may also be zeroed and never initialised. */
void comm_cpu_events_deinit(struct comm_cpu_events *events);

/* Disabled on all online CPUs; a CPU that goes offline meanwhile is passed over. */
int comm_cpu_events_open(struct comm_cpu_events *events, const char *name,
			 const struct perf_event_attr *attr, char **err);
int comm_cpu_events_enable(struct comm_cpu_events *events, char **err);
void comm_cpu_events_disable(struct comm_cpu_events *events);
/* A CPU went offline: its event is dead.  What it lost stays counted. */
void comm_cpu_events_gone(struct comm_cpu_events *events, unsigned int cpu);
/*
 * A CPU is back, and this event is open there as the others were at first, disabled; now it is as the
 * CPU's was before.  Takes the descriptor, also when it cannot be used: false.
 */
bool comm_cpu_events_back(struct comm_cpu_events *events, unsigned int cpu, int fd);
/* Records of these events that found no room in the rings; opened with PERF_FORMAT_LOST. */
uint64_t comm_cpu_events_lost(const struct comm_cpu_events *events);
/*
 * Sets the period of that CPU's event from the rate.  1: changed; 0: unchanged, as
 * the difference is not worth it or the CPU has no event.
 */
int comm_cpu_events_set_rate(struct comm_cpu_events *events, unsigned int cpu,
			     const struct comm_sampler_rate *rate);

#endif
