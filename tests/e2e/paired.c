// SPDX-License-Identifier: GPL-2.0-or-later
/* Two pairs of threads, "left" and "right", until it is killed: in each one writes, and then the other one reads that. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

enum { WORDS = 1 << 12 };

#define ROUNDS (1L << 40)

struct pair {
	const char *name;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	int is_full;
	volatile long data[WORDS];
};

static struct pair pairs[] = {
	{"left", PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0}},
	{"right", PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0}},
};
static volatile long sink;

static void turn(struct pair *p, int is_full)
{
	pthread_mutex_lock(&p->lock);
	while (p->is_full != is_full)
		pthread_cond_wait(&p->turned, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void pass(struct pair *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_full = !p->is_full;
	pthread_cond_broadcast(&p->turned);
	pthread_mutex_unlock(&p->lock);
}

static __attribute__((noinline)) void put(struct pair *p, long n)
{
	for (int i = 0; i < WORDS; i++)
		p->data[i] = n + i;
}

static __attribute__((noinline)) void get(struct pair *p)
{
	long sum = 0;

	for (int i = 0; i < WORDS; i++)
		sum += p->data[i];
	sink = sum;
}

static void *writer(void *of)
{
	pthread_setname_np(pthread_self(), ((struct pair *)of)->name);
	for (long n = 0; n < ROUNDS; n++) {
		turn(of, 0);
		put(of, n);
		pass(of);
	}
	return NULL;
}

static void *reader(void *of)
{
	pthread_setname_np(pthread_self(), ((struct pair *)of)->name);
	for (long n = 0; n < ROUNDS; n++) {
		turn(of, 1);
		get(of);
		pass(of);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[4];

	/* Who takes threads by turns parts the pairs. */
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, i % 2 ? reader : writer, &pairs[i / 2]))
			abort();
	pthread_join(thread[0], NULL);
	return 0;
}
