// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server of requests without a network, that counts what it does: the statistics of its
 * workers stand side by side in one array.
 *
 *	counting CPU_MS [packed|apart|shared|private]
 *
 * packed: two workers' statistics have one cache line, which is false sharing.  apart: each has
 * its own.  shared: all count in one, which they truly share.  private: each on its stack.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 4, BODY_WORDS = 32 };

struct statistics {
	uint64_t requests, bytes, errors, slowest;
};

static struct statistics packed[WORKERS] __attribute__((aligned(64)));
static struct {
	struct statistics of __attribute__((aligned(64)));
} apart[WORKERS];
static struct {
	_Atomic uint64_t requests __attribute__((aligned(64)));
} shared;
static atomic_int stop;
static const char *kind = "packed";

static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __attribute__((noinline)) uint64_t parse(uint64_t *body, uint64_t seed)
{
	uint64_t sum = 0;

	for (int i = 0; i < BODY_WORDS; i++) {
		body[i] = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15;
		sum += body[i] >> 32;
	}
	return sum;
}

static __attribute__((noinline)) void count_request(volatile struct statistics *to, uint64_t sum)
{
	to->requests++;
	to->bytes += BODY_WORDS * sizeof(uint64_t);
	if (sum % 1024 == 0)
		to->errors++;
	if (sum > to->slowest)
		to->slowest = sum;
}

static __attribute__((noinline)) void count_together(void)
{
	atomic_fetch_add_explicit(&shared.requests, 1, memory_order_relaxed);
}

static void *worker(void *arg)
{
	uint64_t body[BODY_WORDS], id = (uintptr_t)arg, sum = id;
	struct statistics own = {0};
	uint64_t requests = 0;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)id);
	pthread_setname_np(pthread_self(), name);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		sum = parse(body, sum + id + 1);
		requests++;
		switch (*kind) {
		case 'a':
			count_request(&apart[id].of, sum);
			break;
		case 's':
			count_together();
			break;
		case 'p':
			count_request(kind[1] == 'a' ? &packed[id] : &own, sum);
		}
	}
	return (void *)(uintptr_t)requests;
}

int main(int argc, char **argv)
{
	long end_ms = argc > 1 ? atol(argv[1]) : 1000;
	const struct timespec tick = {.tv_nsec = 100000000};
	uint64_t requests = 0;
	pthread_t thread[WORKERS];
	void *done;

	if (argc > 2)
		kind = argv[2];
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)i))
			return 1;
	/* The one who reads the statistics does it seldom. */
	while (used_ms() < end_ms) {
		nanosleep(&tick, NULL);
		for (int i = 0; i < WORKERS; i++)
			(void)((volatile struct statistics *)packed)[i].requests;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_join(thread[i], &done) == 0)
			requests += (uintptr_t)done;
	printf("%llu requests a second of CPU\n",
	       (unsigned long long)(requests * 1000 / (uint64_t)used_ms()));
	return 0;
}
