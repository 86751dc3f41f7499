// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A fixed amount of work is timed with and without a timer event on this thread, in
 * many short pairs; the result is the median of the differences, per interrupt.  Runs
 * during which the thread lost its CPU are not counted.  The records in the event's
 * ring tell how many interrupts there really were.
 */
#include "calibrate.h"

#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "trigger.h"

enum {
	PERIOD_NS = 50 * 1000,
	RUN_NS = 500 * 1000,
	PAIRS = 80,
	PAIRS_MIN = 5,
	SIZING_RUNS = 5,
	DEADLINE_NS = 170 * 1000 * 1000,
	RING_PAGES = 8,
	GUESS_NS = 5000,
	GUESS_GUEST_NS = 15000, /* a virtual machine: the timer is emulated */
	LEAST_NS = 300,
	MOST_NS = 100 * 1000,
};

static uint64_t work(uint64_t rounds)
{
	uint64_t x = 1, start = comm_clock_now_ns();

	while (rounds--) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+r"(x));
	}
	return comm_clock_now_ns() - start;
}

static long preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw + usage.ru_nvcsw;
}

/* One run with the event; *ret_n is how often it fired. */
static uint64_t run_with(int fd, volatile struct perf_event_mmap_page *page, uint64_t rounds,
			 uint64_t *ret_n)
{
	uint64_t before = page->data_head, ns;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ns = work(rounds);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	/* Each interrupt wrote one header-only record; the records themselves are never read. */
	*ret_n = (page->data_head - before) / sizeof(struct perf_event_header);
	page->data_tail = page->data_head;
	return ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(int fd, volatile struct perf_event_mmap_page *page, double *ret)
{
	uint64_t start = comm_clock_now_ns(), rounds = 100000, best = UINT64_MAX, took, without,
		 with, n;
	double cost[PAIRS];
	int i = 0;

	/* The fastest of some runs: the slower ones may have been preempted. */
	for (i = 0; i < SIZING_RUNS; i++) {
		took = work(rounds);
		best = took < best ? took : best;
	}
	rounds = rounds * RUN_NS / (best ? best : 1);
	i = 0;
	while (i < PAIRS && comm_clock_now_ns() - start < (i < PAIRS_MIN ? 2 : 1) * DEADLINE_NS) {
		long switched = preemptions();

		without = work(rounds);
		with = run_with(fd, page, rounds, &n);
		if (preemptions() != switched || n < 3)
			continue;
		cost[i++] = ((double)with - (double)without) / (double)n;
	}
	if (i < PAIRS_MIN)
		return -EAGAIN;
	qsort(cost, (size_t)i, sizeof(cost[0]), compare);
	*ret = cost[i / 2];
	return 0;
}

static bool is_guest(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & (1U << 31));
}

void comm_calibrate(struct comm_calibration *ret)
{
	size_t bytes = (size_t)(1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	struct comm_trigger_event event;
	struct perf_event_attr attr;
	cpu_set_t old, one;
	char *err = NULL;
	double ns;
	void *page;
	int fd;

	ret->interrupt_ns = is_guest() ? GUESS_GUEST_NS : GUESS_NS;
	ret->measured = false;
	if (comm_trigger_pick(COMM_WANT_TIME, &event, &err)) {
		free(err);
		return;
	}
	comm_trigger_attr(&event, PERIOD_NS, false, &attr);
	fd = comm_perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return;
	page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		goto close_fd;
	if (sched_getaffinity(0, sizeof(old), &old))
		goto unmap;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (!measure(fd, page, &ns)) {
		ret->interrupt_ns = ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
		ret->measured = true;
	}
	sched_setaffinity(0, sizeof(old), &old);
unmap:
	munmap(page, bytes);
close_fd:
	close(fd);
}
