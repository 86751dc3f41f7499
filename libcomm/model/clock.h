/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of this machine's clocks, in ns. */
#ifndef COMM_CLOCK_H
#define COMM_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t comm_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The clock of all events: CLOCK_MONOTONIC, as perf_event_attr.clockid asks for. */
static inline uint64_t comm_clock_now_ns(void)
{
	return comm_clock_ns(CLOCK_MONOTONIC);
}

/* The CPU time of the calling thread alone: other threads and waiting do not count. */
static inline uint64_t comm_clock_thread_ns(void)
{
	return comm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* How long to sleep so as not to miss that time, most_ms at most. */
static inline int comm_clock_until_ms(uint64_t time_ns, uint64_t now_ns, int most_ms)
{
	if (time_ns <= now_ns)
		return 0;
	time_ns -= now_ns;
	return time_ns < (uint64_t)most_ms * 1000000 ? (int)(time_ns / 1000000) + 1 : most_ms;
}

#endif
