// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program of known accesses, for accesses.sh: copies() reads each word of given once and writes
 * each word of taken twice, in all of its threads' time; adds() adds atomically to sum.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 1024 };

volatile uint64_t given[WORDS], taken[WORDS];
uint64_t sum;

static __attribute__((noinline)) void copies(void)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t word = given[i];

		taken[i] = word;
		taken[i] = word + 1;
	}
}

static __attribute__((noinline)) void adds(void)
{
	for (int i = 0; i < WORDS; i++)
		__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);

	while (time(NULL) < end) {
		for (int i = 0; i < 100; i++)
			copies();
		for (int i = 0; i < 10; i++)
			adds();
	}
	return 0;
}
