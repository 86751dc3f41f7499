// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions that hand over a known number of bytes: in each round put_much writes 960 words and
 * put_little 64, and, when both are done, take_all reads them all once in another thread, then
 * take_again 32 of the little part in that thread.  As many rounds as the second argument says, or until
 * the milliseconds of the first are over; prints how many.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MUCH = 960, LITTLE = 64 };

#define ALONE __attribute__((noinline, noclone, noipa))

static volatile long much[MUCH], little[LITTLE];
static pthread_barrier_t turn;
static volatile int is_over;

static ALONE void put_much(long n)
{
	for (int i = 0; i < MUCH; i++)
		much[i] = n + i;
}

static ALONE void put_little(long n)
{
	for (int i = 0; i < LITTLE; i++)
		little[i] = n + i;
}

static ALONE long take_all(void)
{
	long sum = 0;

	for (int i = 0; i < MUCH; i++)
		sum += much[i];
	for (int i = 0; i < LITTLE; i++)
		sum += little[i];
	return sum;
}

static ALONE long take_again(void)
{
	long sum = 0;

	for (int i = 0; i < LITTLE / 2; i++)
		sum += little[i];
	return sum;
}

static void *take(void *sum)
{
	for (;;) {
		pthread_barrier_wait(&turn);
		if (is_over)
			return sum;
		*(long *)sum += take_all() + take_again();
		pthread_barrier_wait(&turn);
	}
}

static long ms_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 1000, most = argc > 2 ? atol(argv[2]) : 0, n = 0,
	     sum = 0;
	struct timespec start;
	pthread_t thread;

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, take, &sum);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (; most ? n < most : ms_since(&start) < ms; n++) {
		put_much(n);
		put_little(n);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	is_over = 1;
	pthread_barrier_wait(&turn);
	pthread_join(thread, NULL);
	printf("%ld\n", n);
	return 0;
}
