// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One instruction reads by turns what was written in several frames, ROUNDS times over, and what is written in between
 * only once, for tests/e2e/exact_turns.sh.
 */
#include <comm/mark.h>

#include <pthread.h>
#include <stdlib.h>

enum { FRAMES = 4, WORDS = 1000, ROUNDS = 5, EMPTY = 2048 - FRAMES + 1 };

static volatile long memory[WORDS][FRAMES];
static volatile long sink;

static __attribute__((noinline)) void put(int frame)
{
	for (int i = 0; i < WORDS; i++)
		memory[i][frame] = i;
}

static __attribute__((noinline)) void get(int round)
{
	long sum = round;

	for (int i = 0; i < WORDS * FRAMES; i++)
		sum += ((volatile long *)memory)[i];
	sink = sum;
}

static void *read_all(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		get(i);
	/* Of the frame at hand now. */
	put(0);
	get(0);
	/* And all of it of earlier ones. */
	COMM_FRAME();
	get(0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	int empty = 0;

	for (int i = 0; i < FRAMES; i++) {
		COMM_FRAME();
		put(i);
		/* Whoever keeps frames by a part of their numbers has the first and the last at one place. */
		while (!i && empty++ < EMPTY)
			COMM_FRAME();
	}
	if (pthread_create(&thread, NULL, read_all, NULL) || pthread_join(thread, NULL))
		abort();
	return 0;
}
