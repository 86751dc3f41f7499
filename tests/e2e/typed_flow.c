// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads and a list of structures: one sets prices and amounts, the other adds up the
 * prices as it goes from one to the next.
 *
 *	typed_flow CPU_MS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ORDERS = 512 };

struct order {
	struct order *next;
	long amount[3];
	long price;
};

static struct order *first;
static long end_ms;
static volatile long sum;

/* Of CPU, not of time: a busy machine gives as many samples. */
static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __attribute__((noinline)) void set_all(long price)
{
	for (struct order *o = first; o; o = o->next) {
		o->amount[1] = price;
		__atomic_store_n(&o->price, price, __ATOMIC_RELAXED);
	}
}

static __attribute__((noinline)) long add_all(const struct order *o)
{
	long all = 0;

	for (; o; o = o->next)
		all += __atomic_load_n(&o->price, __ATOMIC_RELAXED);
	return all;
}

static void *reader(void *unused)
{
	(void)unused;
	while (used_ms() < end_ms)
		sum = add_all(first);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < ORDERS; i++) {
		struct order *o = calloc(1, sizeof(*o));

		if (!o)
			return 1;
		o->next = first;
		first = o;
	}
	end_ms = argc > 1 ? atol(argv[1]) : 1000;
	if (pthread_create(&thread, NULL, reader, NULL))
		return 1;
	for (long price = 0; used_ms() < end_ms; price++)
		set_all(price);
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	return 0;
}
