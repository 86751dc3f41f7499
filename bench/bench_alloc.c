// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the library that tells where memory was allocated costs a program, for one malloc() and one free(), in ns:
 * medians of many short loops through the library, each paired with one without it.  Every 512 KiB one is drawn.
 *
 *	bench_alloc LIBRARY [SECONDS]
 */
#include "clock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 4096, PAIRS_MAX = 100000, LIVE = 256 };

struct allocator {
	void *(*malloc)(size_t size);
	void (*free)(void *block);
};

static volatile struct allocator plain = {malloc, free}, counted;
static double added_ns[PAIRS_MAX], plain_ns[PAIRS_MAX];

/* Blocks that live for a while: what is freed is not what was allocated last. */
static uint64_t turns(volatile struct allocator *by, size_t size)
{
	static void *live[LIVE];
	uint64_t start_ns = comm_clock_now_ns();

	for (unsigned int i = 0; i < TURNS; i++) {
		void **at = &live[i * 1103515245u >> 8 & (LIVE - 1)];

		by->free(*at);
		*at = by->malloc(size);
	}
	/* Of another allocator's blocks none may be left. */
	for (unsigned int i = 0; i < LIVE; i++) {
		by->free(live[i]);
		live[i] = NULL;
	}
	return comm_clock_now_ns() - start_ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(size_t size, double seconds)
{
	uint64_t end_ns = comm_clock_now_ns() + (uint64_t)(seconds * 1e9);
	size_t n = 0;

	while (n < PAIRS_MAX && comm_clock_now_ns() < end_ns) {
		/* Who comes first has the colder caches: in turns. */
		double first = (double)turns(n % 2 ? &plain : &counted, size);
		double second = (double)turns(n % 2 ? &counted : &plain, size);

		plain_ns[n] = (n % 2 ? first : second) / TURNS;
		added_ns[n] = (n % 2 ? second - first : first - second) / TURNS;
		n++;
	}
	qsort(added_ns, n, sizeof(*added_ns), by_value);
	qsort(plain_ns, n, sizeof(*plain_ns), by_value);
	printf("malloc(%zu) and free: %.2f ns more, the middle half of %zu pairs %.2f..%.2f ns; "
	       "without %.1f ns\n",
	       size, added_ns[n / 2], n, added_ns[n / 4], added_ns[n - 1 - n / 4], plain_ns[n / 2]);
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 2;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library) {
		fprintf(stderr, "usage: bench_alloc LIBRARY [SECONDS]%s%s\n", argc > 1 ? ": " : "",
			argc > 1 ? dlerror() : "");
		return 2;
	}
	counted.malloc = (void *(*)(size_t))dlsym(library, "malloc");
	counted.free = (void (*)(void *))dlsym(library, "free");
	measure(64, seconds / 3);
	measure(1000, seconds / 3);
	measure(100000, seconds / 3);
	return 0;
}
