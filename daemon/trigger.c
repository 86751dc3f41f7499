// SPDX-License-Identifier: GPL-2.0-or-later
#include "trigger.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PROBE_LOOPS = 100000 };

static const struct comm_trigger_event cpu_clock = {
	.name = "cpu-clock",
	.trigger = COMM_TRIGGER_TIME,
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.period = COMM_DEFAULT_PERIOD_NS,
};

static const struct comm_trigger_event instructions = {
	.name = "instructions",
	.trigger = COMM_TRIGGER_INSTRUCTIONS,
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_INSTRUCTIONS,
	.period = COMM_DEFAULT_PERIOD_INSNS,
};

int comm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		   unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

void comm_trigger_attr(const struct comm_trigger_event *event, uint64_t period, bool kernel,
		       struct perf_event_attr *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	ret->type = event->type;
	ret->config = event->config;
	ret->sample_period = period ? period : event->period;
	ret->disabled = 1;
	ret->exclude_kernel = !kernel;
	ret->exclude_hv = 1;
	ret->exclude_guest = 1;
}

/* Does the event count while this thread runs, and can it interrupt? */
static bool counts(const struct comm_trigger_event *event)
{
	struct perf_event_attr attr;
	uint64_t count = 0;
	int fd, i;

	comm_trigger_attr(event, 0, false, &attr);
	fd = comm_perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return false;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < PROBE_LOOPS; i++)
		__asm__ volatile("");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	close(fd);
	return count >= PROBE_LOOPS;
}

int comm_trigger_pick(enum comm_want_trigger want, struct comm_trigger_event *ret, char **err)
{
	if (want != COMM_WANT_TIME && counts(&instructions)) {
		*ret = instructions;
		return 0;
	}
	if (want == COMM_WANT_INSTRUCTIONS)
		return comm_source_fail(err, -ENODEV,
					"this machine does not count instructions (a virtual "
					"machine without a PMU?): use time");
	*ret = cpu_clock;
	return 0;
}

bool comm_trigger_worth_setting(uint64_t now, uint64_t then, bool parked)
{
	return parked ? then >= 2 * now || now >= 2 * then : then != now;
}

uint64_t comm_trigger_tick_ns(void)
{
	struct timespec ts;

	/*
	 * The coarse clock advances with the tick, so its resolution is the tick's
	 * (kernel/time/posix-timers.c).
	 */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &ts) || ts.tv_sec || ts.tv_nsec < 1)
		return 0;
	return (uint64_t)ts.tv_nsec;
}

int comm_perf_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int value = INT_MAX;

	if (!f)
		return INT_MAX;
	if (fscanf(f, "%d", &value) != 1)
		value = INT_MAX;
	fclose(f);
	return value;
}

unsigned int comm_perf_max_rate(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned int rate = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%u", &rate) != 1)
		rate = 0;
	fclose(f);
	return rate;
}

bool comm_has_capability(int cap_a, int cap_b)
{
	cap_flag_value_t a = CAP_CLEAR, b = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (!caps)
		return false;
	cap_get_flag(caps, cap_a, CAP_EFFECTIVE, &a);
	if (cap_b >= 0)
		cap_get_flag(caps, cap_b, CAP_EFFECTIVE, &b);
	cap_free(caps);
	return a == CAP_SET || b == CAP_SET;
}

int comm_cpu_list(const char *text, int *cpu, int max)
{
	int first, last, n = 0, used;

	while (sscanf(text, "%d%n", &first, &used) == 1) {
		text += used;
		last = first;
		if (*text == '-' && sscanf(++text, "%d%n", &last, &used) == 1)
			text += used;
		for (; first <= last && n < max; first++)
			cpu[n++] = first;
		if (*text++ != ',')
			break;
	}
	return n ? n : -ENODATA;
}

int comm_online_cpus(int *cpu, int max)
{
	FILE *f = fopen(COMM_ONLINE_CPUS, "re");
	char text[4096]; /* as much as sysfs tells */
	int n;

	if (!f)
		return -errno;
	n = fgets(text, sizeof(text), f) ? comm_cpu_list(text, cpu, max) : -ENODATA;
	fclose(f);
	return n;
}
