// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An OpenMP program without marks of its own: what the parallel region of put() writes that of
 * get() reads, and tasks of work() in the region of tasks().  With -DMARKED, all within a region
 * that comm/mark.h marks.  Lines are named by collectors.sh, by the words behind "line:".
 *
 *	omp CPU_MS
 */
#include <stdlib.h>
#include <time.h>

#ifdef MARKED
#include <comm/mark.h>
#else
#define COMM_REGION(name) ((void)0)
#endif

enum { WORDS = 1 << 14, TASKS = 16 };

static volatile long words[WORDS], sink;

/* Of CPU, not of time: a busy machine gives as many samples. */
static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __attribute__((noinline)) void put(void)
{
#pragma omp parallel for /* line: put */
	for (int i = 0; i < WORDS; i++)
		words[i] = i;
}

static __attribute__((noinline)) void get(void)
{
	long sum = 0;

#pragma omp parallel for reduction(+ : sum) /* line: get */
	for (int i = WORDS - 1; i >= 0; i--)
		sum += words[WORDS - 1 - i];
	sink = sum;
}

static __attribute__((noinline)) void work(int task)
{
	long sum = 0;

	for (int i = 0; i < WORDS / TASKS; i++)
		sum += words[task * (WORDS / TASKS) + i];
	sink = sum;
}

static __attribute__((noinline)) void tasks(void)
{
#pragma omp parallel /* line: tasks */
#pragma omp single
	for (int task = 0; task < TASKS; task++) {
#pragma omp task firstprivate(task) /* line: task */
		work(task);
	}
}

int main(int argc, char **argv)
{
	long end_ms = used_ms() + (argc > 1 ? atol(argv[1]) : 1);

	COMM_REGION("program");
	while (used_ms() < end_ms) {
		for (int i = 0; i < 50; i++) {
			put();
			get();
			tasks();
		}
	}
	return 0;
}
