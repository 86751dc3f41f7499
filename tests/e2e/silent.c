// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads write one table, one after the other, for so many seconds each, and a third reads it all the time.
 * Says when the second one has written all of it, in nanoseconds of CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 4096, MS = 1000000, SECOND = 1000 * MS };

static volatile uint64_t table[WORDS], sum;
static uint64_t half_ns;
static atomic_bool is_over; /* what the first one writes */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Each time with other values. */
static void fill(uint64_t turn)
{
	for (uint64_t i = 0; i < WORDS; i++)
		table[i] = turn * WORDS + i;
}

static void *first(void *unused)
{
	uint64_t until_ns = now_ns() + half_ns, turn = 1;

	prctl(PR_SET_NAME, "first");
	while (now_ns() < until_ns)
		fill(turn++);
	atomic_store(&is_over, true);
	/* It lives on, and runs now and then. */
	for (;;)
		usleep(50000);
	return unused;
}

static void *second(void *unused)
{
	uint64_t until_ns, turn = 1;

	prctl(PR_SET_NAME, "second");
	while (!atomic_load(&is_over))
		usleep(10000);
	fill(turn++);
	until_ns = now_ns() + half_ns;
	printf("%" PRIu64 "\n", until_ns - half_ns);
	fflush(stdout);
	while (now_ns() < until_ns)
		fill(turn++);
	_exit(0);
	return unused;
}

static void *reader(void *unused)
{
	prctl(PR_SET_NAME, "reader");
	for (;;)
		for (int i = 0; i < WORDS; i++)
			sum += table[i];
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const run[])(void *) = {first, second, reader};
	pthread_t thread;

	if (argc != 2)
		return 2;
	half_ns = (uint64_t)atoi(argv[1]) * SECOND;
	for (int i = 0; i < 3; i++) {
		errno = pthread_create(&thread, NULL, run[i], NULL);
		if (errno) {
			perror("silent: pthread_create");
			return 1;
		}
	}
	pthread_join(thread, NULL);
	return 0;
}
