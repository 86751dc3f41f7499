// SPDX-License-Identifier: GPL-2.0-or-later
#include "stall.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

/* Documentation/scheduler/sched-stats.rst: time on a CPU, time that it waited for one, and how often. */
static uint64_t without_cpu_ns(int fd)
{
	char text[64], *end;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

/* The first of the two in schedstat is brought up to date with each switch only. */
static struct comm_stall_times times(const struct comm_stall *stall)
{
	return (struct comm_stall_times){.work_ns = comm_clock_ns(CLOCK_THREAD_CPUTIME_ID),
					 .cpu_ns = without_cpu_ns(stall->fd)};
}

void comm_stall_open(struct comm_stall *stall, bool parts)
{
	*stall = (struct comm_stall){.has_parts = parts, .fd = -1};
	if (parts)
		stall->fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
}

void comm_stall_close(struct comm_stall *stall)
{
	if (stall->fd >= 0)
		close(stall->fd);
	stall->fd = -1;
}

void comm_stall_sleep(struct comm_stall *stall, uint64_t now_ns)
{
	stall->slept_from_ns = now_ns;
}

void comm_stall_read(struct comm_stall *stall, uint64_t now_ns, int slept_ms)
{
	uint64_t meant_ns = slept_ms > 0 ? (uint64_t)slept_ms * 1000000 : 0;
	uint64_t slept_ns = now_ns - stall->slept_from_ns;
	struct comm_stall_times now = {0};

	if (slept_ns > meant_ns)
		slept_ns = meant_ns;
	if (stall->has_parts)
		now = times(stall);
	if (stall->read_ns && now_ns - stall->read_ns - slept_ns > stall->longest_ns) {
		stall->longest_ns = now_ns - stall->read_ns - slept_ns;
		stall->parts.work_ns = now.work_ns - stall->before.work_ns;
		stall->parts.cpu_ns = now.cpu_ns - stall->before.cpu_ns;
	}
	stall->read_ns = now_ns;
	stall->before = now;
}
