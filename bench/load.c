// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A CPU-bound target: THREADS threads in a ring, each works on its own data and now
 * and then reads data that its neighbour wrote.  Prints the rounds done every 100 ms,
 * so that the same process can be measured with and without a profiler in turns.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 4096, THREADS_MAX = 256 };

static struct {
	_Alignas(128) volatile uint64_t rounds;
	uint64_t data[WORDS];
} part[THREADS_MAX];
static size_t n_threads = 4;

static void *work(void *arg)
{
	size_t me = (size_t)(uintptr_t)arg, from = (me + n_threads - 1) % n_threads;

	for (;;) {
		/*
		 * Mostly reads its own data, or the placement of threads on CPUs
		 * would decide the speed.
		 */
		size_t of = part[me].rounds % 16 ? me : from;

		for (size_t i = 0; i < WORDS; i++)
			part[me].data[i] += part[of].data[i] * 3 + i;
		part[me].rounds++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {0, 100000000};
	pthread_t thread;
	uint64_t before = 0;

	if (argc > 1)
		n_threads = strtoul(argv[1], NULL, 10);
	if (!n_threads || n_threads > THREADS_MAX)
		return 2;
	for (size_t i = 0; i < n_threads; i++)
		if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)i))
			return 1;
	for (;;) {
		struct timespec now;
		uint64_t rounds = 0;

		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		for (size_t i = 0; i < n_threads; i++)
			rounds += part[i].rounds;
		printf("%ld.%09ld %lu\n", (long)now.tv_sec, now.tv_nsec, rounds - before);
		fflush(stdout);
		before = rounds;
	}
}
