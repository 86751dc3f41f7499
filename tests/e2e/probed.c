// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with probes, of known communication: what is written between "put" and "put__done" is read
 * between "get" and "get__done".  Whether somebody has attached to put, its semaphore tells: until
 * then put's probes are passed over.  With -DMARKED, what is written is within a region of
 * comm/mark.h as well.
 *
 *	probed CPU_MS
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#ifdef MARKED
#include <comm/mark.h>
#else
#define COMM_REGION(name) ((void)0)
#endif

unsigned short probed_put_semaphore __attribute__((section(".probes")));
unsigned short probed_put__done_semaphore __attribute__((section(".probes")));
unsigned short probed_get_semaphore __attribute__((section(".probes")));
unsigned short probed_get__done_semaphore __attribute__((section(".probes")));
unsigned short probed_get__failed_semaphore __attribute__((section(".probes")));
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

enum { WORDS = 1 << 12 };

static volatile long words[WORDS], sink;
static long end_ms;

/* Of CPU, not of time: a busy machine gives as many samples. */
static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __attribute__((noinline)) void put(void)
{
	if (probed_put_semaphore)
		DTRACE_PROBE(probed, put);
	{
		COMM_REGION("inner");
		for (int i = 0; i < WORDS; i++)
			words[i] = i;
	}
	if (probed_put__done_semaphore)
		DTRACE_PROBE(probed, put__done);
}

static __attribute__((noinline)) void get(int turn)
{
	long sum = 0;

	DTRACE_PROBE1(probed, get, turn);
	for (int i = 0; i < WORDS; i++)
		sum += words[i];
	sink = sum;
	if (turn & 1)
		DTRACE_PROBE(probed, get__done);
	else
		DTRACE_PROBE(probed, get__failed);
}

static void *reader(void *unused)
{
	(void)unused;
	for (int turn = 0; used_ms() < end_ms; turn++)
		get(turn);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	end_ms = used_ms() + (argc > 1 ? atol(argv[1]) : 1);
	pthread_create(&thread, NULL, reader, NULL);
	while (used_ms() < end_ms)
		put();
	pthread_join(thread, NULL);
	return 0;
}
