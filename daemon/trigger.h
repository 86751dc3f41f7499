/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trigger: which perf event interrupts a thread for a sample, and whether the
 * kernel lets us have it.  The source decides what happens at the interrupt.
 */
#ifndef COMM_TRIGGER_H
#define COMM_TRIGGER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "source.h"

enum {
	COMM_DEFAULT_PERIOD_NS = 1000003,
	COMM_DEFAULT_PERIOD_INSNS = 3000017,
};

struct comm_trigger_event {
	const char *name;
	enum comm_trigger trigger;
	uint32_t type;
	uint64_t config;
	uint64_t period; /* default */
};

/* perf_event_open(2), but returns -errno, not -1. */
int comm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		   unsigned long flags);

/*
 * Instructions only if this machine really counts them: many virtual machines open
 * the event and never count.  -ENODEV: instructions were asked for, but are not
 * counted here.
 */
int comm_trigger_pick(enum comm_want_trigger want, struct comm_trigger_event *ret, char **err);
/* Clears *ret and fills it in for that event. */
void comm_trigger_attr(const struct comm_trigger_event *event, uint64_t period, bool kernel,
		       struct perf_event_attr *ret);

/*
 * Setting a period restarts the event's count.  A parked CPU's period is long: if
 * each small change of the rate were set there, it would never end, and never sample.
 */
bool comm_trigger_worth_setting(uint64_t now, uint64_t then, bool parked);

/* Time between two ticks of the scheduler on a busy CPU. */
uint64_t comm_trigger_tick_ns(void);

/* kernel.perf_event_paranoid; INT_MAX when perf is missing. */
int comm_perf_paranoid(void);

enum { COMM_PERF_MAX_RATE = 100000 }; /* kernel.perf_event_max_sample_rate at boot */

/*
 * kernel.perf_event_max_sample_rate, samples a second; 0: not known.  The kernel lowers
 * it, for all users of perf and until somebody sets it again, when interrupts of samples,
 * ours or others', take more than kernel.perf_cpu_time_max_percent.
 */
unsigned int comm_perf_max_rate(void);
/* Is one of these capabilities in the effective set?  cap_b may be -1. */
bool comm_has_capability(int cap_a, int cap_b);

#define COMM_ONLINE_CPUS "/sys/devices/system/cpu/online"

/* CPUs of a list as the kernel writes it ("0-3,6"), ascending; at most max.  Returns how many, or -ENODATA. */
int comm_cpu_list(const char *text, int *cpu, int max);
/* Online CPUs, likewise, or -errno. */
int comm_online_cpus(int *cpu, int max);

#endif
