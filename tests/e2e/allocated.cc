// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory of known places in the code, each marked "site: NAME" at its line, which one thread writes and
 * another reads, as much of each: large blocks, small ones by way of a function that allocates for others, by one
 * that is inlined, in functions that end in a jump to malloc() or to one that allocates for others, by
 * realloc(), operator new and strdup(), in a thread of its own, and two that have the same address in turns.
 *
 *	allocated MS		goes on for as many milliseconds
 *	allocated exec MS	the same in a child of fork(), of a program that another became by exec()
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <malloc.h>

enum { BYTES = 400 << 10, SMALL = 1000, N_SMALL = BYTES / SMALL };

#define ALONE extern "C" __attribute__((noinline, noclone, noipa))

static volatile long *table, *grown, *vector, *aligned, *text, *own, *turned, *jumped, *left,
	*inlined;
static volatile long *small[N_SMALL];
static pthread_barrier_t turn;
static volatile int is_over;

ALONE void *xmalloc(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		abort();
	return block;
}

/* At -O2 these are jumps: nothing of the function is on the stack. */
ALONE void *new_cells(size_t n)
{
	return malloc(n * sizeof(long)); /* site: new_cells */
}

ALONE void *new_rows(void)
{
	return xmalloc(BYTES); /* site: new_rows */
}

static inline __attribute__((always_inline)) void *inline_xmalloc(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		abort();
	return block;
}

ALONE void make_table(void)
{
	table = (long *)malloc(BYTES); /* site: make_table */
}

ALONE void make_small(void)
{
	for (size_t i = 0; i < N_SMALL; i++)
		small[i] = (long *)xmalloc(SMALL); /* site: make_small */
}

ALONE void make_jumped(void)
{
	jumped = (long *)new_cells(BYTES / sizeof(long));
	left = (long *)new_rows();
}

ALONE void make_inlined(void)
{
	inlined = (long *)inline_xmalloc(BYTES); /* site: make_inlined */
}

ALONE void make_grown(void)
{
	void *block = malloc(BYTES / 2);

	grown = (long *)realloc(block, BYTES); /* site: make_grown */
}

ALONE void make_vector(void)
{
	vector = new long[BYTES / sizeof(long)]; /* site: make_vector */
}

ALONE void make_aligned(void)
{
	aligned = (long *)aligned_alloc(4096, BYTES); /* site: make_aligned */
}

ALONE void make_text(void)
{
	char *from = (char *)malloc(BYTES);

	memset(from, 'x', BYTES - 1);
	from[BYTES - 1] = 0;
	text = (long *)strdup(from); /* site: make_text */
	free(from);
}

ALONE void make_own(void)
{
	own = (long *)calloc(1, BYTES); /* site: make_own */
}

ALONE void make_even(void)
{
	turned = (long *)malloc(BYTES); /* site: make_even */
}

ALONE void make_odd(void)
{
	turned = (long *)malloc(BYTES); /* site: make_odd */
}

ALONE void write_block(volatile long *block, size_t bytes, long round)
{
	for (size_t i = 0; i < bytes / sizeof(*block); i++)
		block[i] = round + (long)i;
}

ALONE long read_block(const volatile long *block, size_t bytes)
{
	long sum = 0;

	for (size_t i = 0; i < bytes / sizeof(*block); i++)
		sum += block[i];
	return sum;
}

static void write_all(long round)
{
	volatile long *const blocks[] = {table, grown,	vector, aligned, text,
					 own,	turned, jumped, left,	 inlined};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		write_block(blocks[i], BYTES, round);
	for (size_t i = 0; i < N_SMALL; i++)
		write_block(small[i], SMALL, round);
}

static long read_all(void)
{
	const volatile long *const blocks[] = {table, grown,  vector, aligned, text,
					       own,   turned, jumped, left,    inlined};
	long sum = 0;

	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		sum += read_block(blocks[i], BYTES);
	for (size_t i = 0; i < N_SMALL; i++)
		sum += read_block(small[i], SMALL);
	return sum;
}

/* Free and again, at the same address: many bytes of both are read before the other comes. */
static void turn_over(long round)
{
	volatile long *old = turned;

	if (round % 16)
		return;
	free((void *)turned);
	if (round / 16 % 2)
		make_odd();
	else
		make_even();
	if (round && old != turned) {
		fprintf(stderr, "another address\n");
		exit(1);
	}
}

static void *write_them(void *unused)
{
	make_own();
	for (long round = 0;; round++) {
		turn_over(round);
		write_all(round);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		if (is_over)
			return unused;
	}
}

static void go_on(long ms)
{
	struct timespec start, now;
	pthread_t thread;
	long sum = 0;

	pthread_barrier_init(&turn, NULL, 2);
	make_small();
	make_jumped();
	make_inlined();
	make_grown();
	make_vector();
	make_aligned();
	make_text();
	clock_gettime(CLOCK_MONOTONIC, &start);
	pthread_create(&thread, NULL, write_them, NULL);
	do {
		pthread_barrier_wait(&turn);
		sum += read_all();
		clock_gettime(CLOCK_MONOTONIC, &now);
		is_over = (now.tv_sec - start.tv_sec) * 1000 +
				  (now.tv_nsec - start.tv_nsec) / 1000000 >=
			  ms;
		pthread_barrier_wait(&turn);
	} while (!is_over);
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[argc - 1]) : 1000;
	int status;

	/* What is large is a mapping of its own, which comes and goes. */
	mallopt(M_MMAP_THRESHOLD, BYTES / 4);
	make_table();
	if (argc > 2 && !strcmp(argv[1], "exec")) {
		write_block(table, BYTES, 1);
		execl("/proc/self/exe", argv[0], "fork", argv[2], (char *)NULL);
		return 1;
	}
	if (argc > 2 && fork()) {
		wait(&status);
		return WEXITSTATUS(status);
	}
	go_on(ms);
	return 0;
}
