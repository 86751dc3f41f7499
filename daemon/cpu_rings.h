/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ring of perf on each online CPU.  Its owner is an event that never fires, so
 * that any number of events of that CPU can write into it (PERF_EVENT_IOC_SET_OUTPUT
 * with the owner's descriptor) and be opened and closed at will.  One thread uses it.
 */
#ifndef COMMD_CPU_RINGS_H
#define COMMD_CPU_RINGS_H

#include <stdbool.h>
#include <sys/types.h>

#include "perf_ring.h"

struct comm_cpu_ring {
	int cpu;
	int fd; /* of the event that owns the ring */
	struct comm_perf_ring ring;
};

struct comm_cpu_rings {
	struct comm_cpu_ring *ring; /* NULL: not open */
	unsigned int n;
	unsigned int n_cpus; /* possible CPUs: bound of a CPU number, plus 1 */
};

struct comm_cpu_rings_config {
	uint64_t sample_type; /* of the events that will write into the rings */
	bool perf_clock;      /* the records' time is perf's own; else CLOCK_MONOTONIC */
	pid_t pid; /* of the owner events: 0 needs no privilege; -1 where the events have -1 */
	size_t pages, pages_min; /* per ring, powers of two: as many as locked memory allows */
};

/* 0 or -errno and a sentence in *err (malloc'ed). */
int comm_cpu_rings_open(const struct comm_cpu_rings_config *config, struct comm_cpu_rings *ret,
			char **err);
/* *rings may be zeroed, or left by an open that failed. */
void comm_cpu_rings_close(struct comm_cpu_rings *rings);

/* That CPU's, or NULL: it was offline when they were opened. */
const struct comm_cpu_ring *comm_cpu_rings_of(const struct comm_cpu_rings *rings, unsigned int cpu);

#endif
