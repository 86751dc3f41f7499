// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exact_load lu|fft|tree ROUNDS: programs for bench/exact_native.py.  Two threads factor a matrix by
 * blocks, transform 64 Ki numbers, or look words up in a tree and count them there.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, N = 384, BLOCK = 16, POINTS = 1 << 16, NODES = 1 << 15, LOOKUPS = 1 << 16 };

struct node {
	struct node *less, *more;
	uint64_t key, found[THREADS];
};

static double *matrix, *re, *im, *cosine, *sine;
static struct node *root, *nodes;
static pthread_barrier_t barrier;
static long rounds;

/* The pivot's block column. */
static void factor_column(long k)
{
	for (long i = k; i < k + BLOCK; i++)
		for (long r = i + 1; r < N; r++) {
			double f = matrix[r * N + i] /= matrix[i * N + i];

			for (long j = i + 1; j < k + BLOCK; j++)
				matrix[r * N + j] -= f * matrix[i * N + j];
		}
}

static void factor_row(long k, long j)
{
	for (long i = k; i < k + BLOCK; i++)
		for (long r = i + 1; r < k + BLOCK; r++) {
			double f = matrix[r * N + i];

			for (long q = j; q < j + BLOCK; q++)
				matrix[r * N + q] -= f * matrix[i * N + q];
		}
}

static void update(double *c, const double *x, const double *y)
{
	for (long i = 0; i < BLOCK; i++)
		for (long k = 0; k < BLOCK; k++) {
			double f = x[i * N + k];

			for (long j = 0; j < BLOCK; j++)
				c[i * N + j] -= f * y[k * N + j];
		}
}

static void lu(long me)
{
	for (long i = me * N / THREADS; i < (me + 1) * N / THREADS; i++)
		for (long j = 0; j < N; j++)
			matrix[i * N + j] =
				(i * 7919 + j * 104729) % 1000 / 100.0 + (i == j ? N : 0);
	pthread_barrier_wait(&barrier);
	for (long k = 0; k < N; k += BLOCK) {
		if (k / BLOCK % THREADS == me)
			factor_column(k);
		pthread_barrier_wait(&barrier);
		for (long j = k + BLOCK; j < N; j += BLOCK)
			if (j / BLOCK % THREADS == me)
				factor_row(k, j);
		pthread_barrier_wait(&barrier);
		for (long i = k + BLOCK; i < N; i += BLOCK)
			for (long j = k + BLOCK; j < N; j += BLOCK)
				if ((i + j) / BLOCK % THREADS == me)
					update(matrix + i * N + j, matrix + i * N + k,
					       matrix + k * N + j);
		pthread_barrier_wait(&barrier);
	}
}

static void fft(long me)
{
	for (long i = me * POINTS / THREADS; i < (me + 1) * POINTS / THREADS; i++) {
		re[i] = i % 7;
		im[i] = 0;
	}
	pthread_barrier_wait(&barrier);
	for (long half = 1; half < POINTS; half *= 2) {
		for (long b = me * POINTS / 2 / THREADS; b < (me + 1) * POINTS / 2 / THREADS; b++) {
			long k = b % half, p = b / half * 2 * half + k, q = p + half;
			double c = cosine[k * (POINTS / 2 / half)],
			       s = sine[k * (POINTS / 2 / half)];
			double tr = re[q] * c - im[q] * s, ti = re[q] * s + im[q] * c;

			re[q] = re[p] - tr;
			im[q] = im[p] - ti;
			re[p] += tr;
			im[p] += ti;
		}
		pthread_barrier_wait(&barrier);
	}
}

static void tree(long me)
{
	uint64_t random = me + 1;

	for (long i = 0; i < LOOKUPS; i++) {
		const struct node *node = root;

		random = random * 6364136223846793005u + 1442695040888963407u;
		while (node && node->key != random >> 49)
			node = random >> 49 < node->key ? node->less : node->more;
		if (node)
			nodes[node - nodes].found[me]++;
	}
	pthread_barrier_wait(&barrier);
}

static void plant(void)
{
	for (long i = 0; i < NODES; i++) {
		struct node **at = &root;

		/* Another order of the same keys. */
		nodes[i].key = (i * 12345 + 7) % NODES;
		while (*at)
			at = nodes[i].key < (*at)->key ? &(*at)->less : &(*at)->more;
		*at = &nodes[i];
	}
}

static const struct {
	const char *name;
	void (*run)(long me);
} program[] = {{"lu", lu}, {"fft", fft}, {"tree", tree}};

static void (*run)(long me);

static void *thread_main(void *arg)
{
	for (long i = 0; i < rounds; i++)
		run((intptr_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	for (size_t i = 0; argc == 3 && i < sizeof(program) / sizeof(program[0]); i++)
		if (!strcmp(argv[1], program[i].name))
			run = program[i].run;
	if (!run) {
		fprintf(stderr, "usage: exact_load lu|fft|tree ROUNDS\n");
		return 2;
	}
	rounds = atol(argv[2]);
	matrix = malloc(N * N * sizeof(*matrix));
	re = malloc(POINTS * sizeof(*re));
	im = malloc(POINTS * sizeof(*im));
	cosine = malloc(POINTS / 2 * sizeof(*cosine));
	sine = malloc(POINTS / 2 * sizeof(*sine));
	nodes = calloc(NODES, sizeof(*nodes));
	for (long i = 0; i < POINTS / 2; i++) {
		cosine[i] = cos(2 * M_PI * i / POINTS);
		sine[i] = sin(2 * M_PI * i / POINTS);
	}
	plant();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, thread_main, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%g %g %llu\n", matrix[N * N - 1], re[3], (unsigned long long)root->found[0]);
	return 0;
}
