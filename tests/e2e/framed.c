// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that marks frames, of known communication: in each frame one thread writes a buffer, and
 * then the other one reads that which was written so many frames before.
 *
 *	framed FRAMES BACK [MS]		MS of CPU each writes and reads in a frame; default 20
 *
 * With -DSHIFT=WORDS buffers begin so far behind boundaries.
 *
 * Less than 0 frames: as many, and none is marked.  With -DPROBED a probe says that one begins.
 */
#ifdef PROBED
#include <sys/sdt.h>
#define COMM_FRAME() DTRACE_PROBE(framed, frame)
#else
#include <comm/mark.h>
#endif

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 1 << 12, BUFFERS = 4 };

#ifndef SHIFT
#define SHIFT 0
#endif

static volatile long memory[SHIFT + BUFFERS * WORDS] __attribute__((aligned(1 << 17)));
static volatile long sink;
static long back, work_ms = 20;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long turn; /* frame * 2, and 1 more when it is the reader's */

/* Whose turn it is not sleeps: what it may do meanwhile is nothing. */
static void await(long whose)
{
	pthread_mutex_lock(&lock);
	while (turn != whose)
		pthread_cond_wait(&turned, &lock);
	pthread_mutex_unlock(&lock);
}

static void pass(void)
{
	pthread_mutex_lock(&lock);
	turn++;
	pthread_cond_broadcast(&turned);
	pthread_mutex_unlock(&lock);
}

/* Of CPU, not of time: a busy machine gives as many samples. */
static long used_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static volatile long *buffer(long frame)
{
	return memory + SHIFT + frame % BUFFERS * WORDS;
}

static __attribute__((noinline)) void put(volatile long *to)
{
	for (int i = 0; i < WORDS; i++)
		to[i] = i;
}

static __attribute__((noinline)) void get(volatile long *from)
{
	long sum = 0;

	for (int i = 0; i < WORDS; i++)
		sum += from[i];
	sink = sum;
}

static void *reader(void *frames)
{
	for (long frame = 0; frame < (long)frames; frame++) {
		long end_us;

		await(2 * frame + 1);
		end_us = used_us() + work_ms * 1000;
		while (used_us() < end_us)
			get(buffer(frame + BUFFERS - back));
		pass();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1, frames = labs(n);
	pthread_t thread;

	back = argc > 2 ? atol(argv[2]) : 0;
	if (argc > 3)
		work_ms = atol(argv[3]);
	pthread_create(&thread, NULL, reader, (void *)frames);
	for (long frame = 0; frame < frames; frame++) {
		long end_us;

		await(2 * frame);
		if (n > 0)
			COMM_FRAME();
		end_us = used_us() + work_ms * 1000;
		while (used_us() < end_us)
			put(buffer(frame));
		pass();
	}
	pthread_join(thread, NULL);
	return 0;
}
