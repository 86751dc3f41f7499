/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that come back.  What perf has open on a CPU is dead once that was offline (hotplug, or a machine
 * that slept), and a run may open nothing by then.  A process that keeps the right to open events, and no
 * other, opens the same ones again, which were listed at the start.
 *
 * That a CPU went is known of the kernel's list of online ones, of its messages (uevents) where it comes back
 * between two looks, and of two clocks, of which one stands still while the machine sleeps.  One thread uses it.
 */
#ifndef COMMD_HOTPLUG_H
#define COMMD_HOTPLUG_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct comm_hotplug;

struct comm_hotplug_ops {
	/* Whatever was open on that CPU is dead. */
	void (*gone)(void *ctx, unsigned int cpu);
	/*
	 * An event, by its number in the list, is open there again, disabled.  The descriptor is the
	 * callee's to close.  False: it cannot use it.
	 */
	bool (*back)(void *ctx, unsigned int event, unsigned int cpu, int fd);
};

enum {
	COMM_HOTPLUG_EVENTS = 8,
	COMM_HOTPLUG_LOOK_MS = 1000,
};

/* online: the kernel's list of CPUs, as of sysfs; NULL: where the kernel has it.  0 or -errno. */
int comm_hotplug_create(const char *online, struct comm_hotplug **ret);
void comm_hotplug_destroy(struct comm_hotplug *hotplug);
/* Of each CPU, of whatever process; the number of the event, or -ENOSPC.  Before the start. */
int comm_hotplug_add(struct comm_hotplug *hotplug, const struct perf_event_attr *attr);
/* The BPF program that all of the list's events get; before the start.  It stays the caller's. */
void comm_hotplug_attach(struct comm_hotplug *hotplug, int program);
/* Makes the process, which ends with this one.  While this one has its rights.  0 or -errno. */
int comm_hotplug_start(struct comm_hotplug *hotplug);
/* Looks, once in COMM_HOTPLUG_LOOK_MS, and takes what was opened since.  Never waits.  NULL: nothing. */
void comm_hotplug_look(struct comm_hotplug *hotplug, uint64_t now_ns,
		       const struct comm_hotplug_ops *ops, void *ctx);
/* Events of CPUs that are back and have none, ever.  NULL: none. */
uint64_t comm_hotplug_lost(const struct comm_hotplug *hotplug);

#endif
