// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of known sizes, which one thread writes and another reads: in each round as many bytes of
 * blocks of 100, 1,000 and 5,000 bytes of the main heap, of 300 bytes of the writer's own arena, and of one of
 * 200,000, a mapping.  Before each round the writer gives some other blocks back and takes others,
 * so that the heap never stays the same.  Goes on for as many milliseconds as the argument says.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 200000, OTHERS = 512 };

#define ALONE __attribute__((noinline, noclone, noipa))

struct kind {
	size_t bytes, n;
	volatile long **block;
};

static struct kind kinds[] = {{100}, {1000}, {5000}, {300}, {BYTES}};
static pthread_barrier_t turn;
static volatile int is_over;

static ALONE void make(struct kind *kind)
{
	kind->n = BYTES / kind->bytes;
	kind->block = malloc(kind->n * sizeof(*kind->block));
	for (size_t i = 0; i < kind->n; i++)
		kind->block[i] = malloc(kind->bytes);
}

static ALONE void write_all(const struct kind *kind, long round)
{
	for (size_t i = 0; i < kind->n; i++) {
		volatile long *block = kind->block[i];

		for (size_t j = 0, n = kind->bytes / sizeof(*block); j < n; j++)
			block[j] = round + (long)j;
	}
}

static ALONE long read_all(const struct kind *kind)
{
	long sum = 0;

	for (size_t i = 0; i < kind->n; i++) {
		volatile long *block = kind->block[i];

		for (size_t j = 0, n = kind->bytes / sizeof(*block); j < n; j++)
			sum += block[j];
	}
	return sum;
}

static ALONE void churn(void **other, long round)
{
	for (size_t i = (size_t)round % 7; i < OTHERS; i += 7) {
		free(other[i]);
		other[i] = malloc((size_t)(round * 31 + (long)i * 17) % 700);
	}
}

static void *write_them(void *unused)
{
	static void *other[OTHERS];

	make(&kinds[3]);
	pthread_barrier_wait(&turn);
	for (long round = 0; !is_over; round++) {
		churn(other, round);
		for (size_t i = 0; i < 5; i++)
			write_all(&kinds[i], round);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return unused;
}

int main(int argc, char **argv)
{
	static void *other[OTHERS];
	long ms = argc > 1 ? atol(argv[1]) : 1000, sum = 0, round = 0;
	struct timespec start, now;
	pthread_t thread;

	pthread_barrier_init(&turn, NULL, 2);
	for (size_t i = 0; i < 5; i++)
		if (i != 3)
			make(&kinds[i]);
	pthread_create(&thread, NULL, write_them, NULL);
	pthread_barrier_wait(&turn);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		pthread_barrier_wait(&turn);
		churn(other, round++);
		for (size_t i = 0; i < 5; i++)
			sum += read_all(&kinds[i]);
		clock_gettime(CLOCK_MONOTONIC, &now);
		is_over = (now.tv_sec - start.tv_sec) * 1000 +
				  (now.tv_nsec - start.tv_nsec) / 1000000 >=
			  ms;
		pthread_barrier_wait(&turn);
	} while (!is_over);
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	return 0;
}
