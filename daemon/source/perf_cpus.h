/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events that the perf source has on every CPU: of samples, of the life cycle and of switches, each kind by
 * itself, so that its losses are its own.  Their records go into the CPUs' rings; on a CPU that comes back they are
 * opened again, and precise ones with them.  One thread uses it.
 */
#ifndef COMMD_PERF_CPUS_H
#define COMMD_PERF_CPUS_H

#include "cpu_events.h"
#include "cpu_rings.h"
#include "hotplug.h"
#include "perf_precise.h"

struct comm_perf_cpus_config {
	const struct comm_cpu_rings *rings; /* they outlive the events */
	struct comm_perf_precise *precise;  /* likewise; NULL: samples are events of these */
	const char *name;		    /* of the event of samples */
	/* NULL: none. */
	const struct perf_event_attr *samples, *life, *switches;
};

/* All zero: none is open. */
struct comm_perf_cpus {
	const struct comm_cpu_rings *rings;
	struct comm_perf_precise *precise;
	struct comm_cpu_events samples, life, switches;
	struct comm_hotplug *hotplug;
};

/* 0 or -errno and a sentence in *err (malloc'ed); *cpus is to be closed either way. */
int comm_perf_cpus_open(struct comm_perf_cpus *cpus, const struct comm_perf_cpus_config *config,
			char **err);
void comm_perf_cpus_close(struct comm_perf_cpus *cpus);
/* Switches are enabled by their user. */
int comm_perf_cpus_enable(struct comm_perf_cpus *cpus, char **err);
void comm_perf_cpus_disable(struct comm_perf_cpus *cpus);
/* What CPUs went and are back since (hotplug.h). */
void comm_perf_cpus_look(struct comm_perf_cpus *cpus, uint64_t now_ns);
unsigned int comm_perf_cpus_fds(const struct comm_perf_cpus *cpus);

#endif
