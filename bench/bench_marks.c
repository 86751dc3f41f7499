// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a region's mark, begin and end together, and a frame's cost the program, in ns: the median
 * of many short loops with marks, each paired with one without.
 *
 *	bench_marks [SECONDS]
 */
#include <comm/mark.h>

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 1000000, PAIRS_MAX = 100000 };

static double region_ns[PAIRS_MAX], frame_ns[PAIRS_MAX];

/* CPU time, as others take the CPU away. */
static uint64_t plain(void)
{
	uint64_t start_ns = comm_clock_thread_ns();

	for (int i = 0; i < TURNS; i++)
		__asm__ volatile("" ::: "memory");
	return comm_clock_thread_ns() - start_ns;
}

static uint64_t marked(void)
{
	uint64_t start_ns = comm_clock_thread_ns();

	for (int i = 0; i < TURNS; i++) {
		COMM_REGION("marked");
		__asm__ volatile("" ::: "memory");
	}
	return comm_clock_thread_ns() - start_ns;
}

static uint64_t framed(void)
{
	uint64_t start_ns = comm_clock_thread_ns();

	for (int i = 0; i < TURNS; i++) {
		COMM_FRAME();
		__asm__ volatile("" ::: "memory");
	}
	return comm_clock_thread_ns() - start_ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, double *cost, size_t n)
{
	qsort(cost, n, sizeof(*cost), by_value);
	printf("%s: %.2f ns, the middle half of %zu pairs %.2f..%.2f ns\n", what, cost[n / 2], n,
	       cost[n / 4], cost[n - 1 - n / 4]);
}

int main(int argc, char **argv)
{
	uint64_t end_ns =
		comm_clock_now_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 2) * 1000000000u;
	size_t n = 0;

	while (n < PAIRS_MAX && comm_clock_now_ns() < end_ns) {
		double without_ns = (double)plain();

		region_ns[n] = ((double)marked() - without_ns) / TURNS;
		frame_ns[n++] = ((double)framed() - without_ns) / TURNS;
	}
	say("a mark, begin and end", region_ns, n);
	say("a frame", frame_ns, n);
	return 0;
}
