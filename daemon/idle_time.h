/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of the CPUs' time nobody uses, by /proc/uptime, which has hundredths of a second.  The mean over all CPUs is
 * the least part of the time in which some CPU is idle: where they are idle at different times it is more.
 *
 * None is known where this process may not run on every CPU (sched_setaffinity(2)), or where a quota of its control
 * group, cpu.max or cpu.cfs_quota_us, counts its time beside others'.
 */
#ifndef COMM_IDLE_TIME_H
#define COMM_IDLE_TIME_H

#include <stdint.h>

struct comm_idle_time {
	int fd; /* of /proc/uptime, or -1: none is known */
	double cpus;
	double up_s, idle_s; /* as read last */
	double own_s;	     /* of this process, since then */
	double share;
};

/* Opens what must be open before files are out of reach. */
void comm_idle_time_open(struct comm_idle_time *idle);
void comm_idle_time_close(struct comm_idle_time *idle);

/*
 * The share of the CPUs' time, 0 to 1, that nobody but this process wanted: since the last call or, of calls in less than
 * a tenth of a second, since one before it.  own_ns: CPU time of this process since the last call.
 */
double comm_idle_time_share(struct comm_idle_time *idle, uint64_t own_ns);

#endif
