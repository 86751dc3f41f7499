// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time taken from threads that compute: one thread per CPU reads the time-stamp
 * counter over and over; a gap of more than GAP_CYCLES between two readings was not
 * spent in that thread.  Prints the share of all time, in percent, every 2 s.  More
 * precise than a count of work done, which caches and clocks vary.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <x86intrin.h>

enum { GAP_CYCLES = 1500, CPUS_MAX = 256 };

static struct {
	_Alignas(128) volatile uint64_t lost;
} cpu[CPUS_MAX];

static void *work(void *arg)
{
	size_t me = (size_t)(uintptr_t)arg;
	uint64_t before = __rdtsc();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(me, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		uint64_t now = __rdtsc();

		if (now - before > GAP_CYCLES)
			cpu[me].lost += now - before;
		before = now;
	}
	return NULL;
}

int main(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN), i;
	uint64_t before = 0, from = __rdtsc();
	pthread_t thread;

	if (n > CPUS_MAX)
		n = CPUS_MAX;
	for (i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)i))
			return 1;
	for (;;) {
		uint64_t lost = 0, now;

		sleep(2);
		now = __rdtsc();
		for (i = 0; i < n; i++)
			lost += cpu[i].lost;
		printf("%.4f\n",
		       100.0 * (double)(lost - before) / (double)n / (double)(now - from));
		fflush(stdout);
		before = lost;
		from = now;
	}
}
