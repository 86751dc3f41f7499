// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions whose callers are known: each reads and writes a table of its own, until the first
 * argument's milliseconds are over.  One function is called by two, one calls itself, one is
 * jumped to (a tail call), one is a leaf with a large frame, and one's caller has a larger one.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 512, ROUNDS = 40, FRAME = 24, WIDE = 600 };

#define ALONE __attribute__((noinline, noclone, noipa))

static volatile long shared[WORDS], deep[WORDS], jumped[WORDS], framed[WORDS], wide[WORDS];

static ALONE long shared_leaf(long n)
{
	for (int i = 0; i < WORDS; i++)
		shared[i] += n;
	return shared[n % WORDS];
}

static ALONE long caller_one(long n)
{
	return shared_leaf(n) + 1;
}

static ALONE long caller_two(long n)
{
	long sum = 0;

	for (int i = 0; i < 3; i++)
		sum += shared_leaf(n + i);
	return sum;
}

static ALONE long recursive(long n, int depth)
{
	for (int i = 0; i < WORDS; i++)
		deep[i] += n;
	return depth ? recursive(n, depth - 1) + deep[0] : 0;
}

static ALONE long tail_target(long n)
{
	for (int i = 0; i < WORDS; i++)
		jumped[i] += n;
	return jumped[3];
}

/* What it jumps to returns to its caller, so no stack can tell that it was here. */
static ALONE long tail_caller(long n)
{
	return tail_target(n + 1);
}

static ALONE long tail_root(long n)
{
	return tail_caller(n) ^ 5;
}

static ALONE long frame_leaf(long n)
{
	volatile long local[FRAME];

	for (int i = 0; i < WORDS; i++) {
		local[i % FRAME] = n;
		framed[i] += local[(i * 7) % FRAME];
	}
	return local[0];
}

static ALONE long frame_caller(long n)
{
	return frame_leaf(n) * 3;
}

static ALONE long wide_leaf(long n)
{
	for (int i = 0; i < WORDS; i++)
		wide[i] += n;
	return wide[5];
}

/* What called it is further up the stack than a sample has that is asked for one caller. */
static ALONE long wide_caller(long n)
{
	volatile char local[WIDE];

	local[n % WIDE] = (char)n;
	return wide_leaf(n) + local[n % WIDE];
}

static void *work(void *ctx)
{
	struct timespec now, start;
	long ms = *(long *)ctx, sum = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (long n = 0; n < ROUNDS; n++)
			sum += caller_one(n) + caller_two(n) + recursive(n, 3) + tail_root(n) +
			       frame_caller(n) + wide_caller(n);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 1000;
	pthread_t thread;

	pthread_create(&thread, NULL, work, &ms);
	work(&ms);
	pthread_join(thread, NULL);
	return 0;
}
