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

void comm_stall_open(struct comm_stall *stall)
{
	*stall = (struct comm_stall){.fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC)};
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
	stall->slept_cpu_ns = without_cpu_ns(stall->fd);
}

static uint64_t less(uint64_t all_ns, uint64_t part_ns)
{
	return all_ns > part_ns ? all_ns - part_ns : 0;
}

void comm_stall_read(struct comm_stall *stall, uint64_t now_ns, int slept_ms)
{
	uint64_t meant_ns = slept_ms > 0 ? (uint64_t)slept_ms * 1000000 : 0;
	uint64_t slept_ns = now_ns - stall->slept_from_ns, over_ns, awake_ns, own_ns;
	struct comm_stall_times now = times(stall);

	over_ns = slept_ns > meant_ns ? slept_ns - meant_ns : 0;
	awake_ns = stall->read_ns ? stall->slept_from_ns - stall->read_ns : 0;
	if (stall->read_ns && awake_ns + over_ns > stall->longest_ns) {
		stall->longest_ns = awake_ns + over_ns;
		stall->parts.work_ns = now.work_ns - stall->before.work_ns;
		stall->parts.cpu_ns = now.cpu_ns - stall->before.cpu_ns;
	}
	/* Who is woken early and then has no CPU waits for one within the sleep that was meant, at first. */
	own_ns = less(awake_ns, stall->slept_cpu_ns - stall->before.cpu_ns) +
		 less(over_ns, now.cpu_ns - stall->slept_cpu_ns);
	if (stall->read_ns && own_ns > stall->own_ns)
		stall->own_ns = own_ns;
	stall->read_ns = now_ns;
	stall->before = now;
}
