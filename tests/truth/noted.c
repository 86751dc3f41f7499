// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with marked regions, frames and typed objects, that does the same work however fast it
 * is run: what samples say of it is compared with its exact run (against_exact.py).
 *
 *	noted FRAMES ROUNDS
 *
 * In each frame one thread writes, and then the other one reads, ROUNDS times over: a table, orders
 * and items; and, fewer times, what was noted in the frame before.
 */
#include <comm/mark.h>

#include <pthread.h>
#include <stdlib.h>

enum { WORDS = 1 << 12, ORDERS = 512, ITEMS = 1024, NOTED_EVERY = 4 };

struct order {
	long number;
	long price;
	double weight;
	long unused[3];
};

struct item {
	int count, part;
	float size;
};

static long table[WORDS];
static long notes[2][WORDS];
static struct order *orders;
static struct item *items;
static long n_frames, n_rounds;
static volatile double sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long turn; /* frame * 2, and 1 more when it is the reader's */

/* Whose turn it is not sleeps. */
static void await(long whose)
{
	pthread_mutex_lock(&lock);
	while (turn != whose)
		pthread_cond_wait(&turned, &lock);
	pthread_mutex_unlock(&lock);
}

static void pass(void)
{
	pthread_mutex_lock(&lock);
	turn++;
	pthread_cond_broadcast(&turned);
	pthread_mutex_unlock(&lock);
}

/* The compiler must not make one round of them all. */
static void forget(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void put_words(long *to, long value)
{
	for (int i = 0; i < WORDS; i++) {
		to[i] = value + i;
		forget();
	}
}

static __attribute__((noinline)) long get_words(const long *from)
{
	long sum = 0;

	for (int i = 0; i < WORDS; i++) {
		sum += from[i];
		forget();
	}
	return sum;
}

static __attribute__((noinline)) void put_orders(long value)
{
	struct order *o = orders;

	for (int i = 0; i < ORDERS; i++, o++) {
		o->price = value;
		o->weight = (double)value / 2;
		forget();
	}
}

static __attribute__((noinline)) double get_orders(void)
{
	const struct order *o = orders;
	double sum = 0;

	for (int i = 0; i < ORDERS; i++, o++) {
		sum += (double)o->price;
		forget();
		sum += o->weight;
		forget();
	}
	return sum;
}

static __attribute__((noinline)) void put_items(int value)
{
	struct item *item = items;

	for (int i = 0; i < ITEMS; i++, item++) {
		item->count = value;
		item->part = i;
		item->size = (float)value;
		forget();
	}
}

static __attribute__((noinline)) double get_items(void)
{
	const struct item *item = items;
	double sum = 0;

	for (int i = 0; i < ITEMS; i++, item++) {
		sum += item->count;
		forget();
		sum += (double)item->size;
		forget();
	}
	return sum;
}

static void write_frame(long frame)
{
	COMM_REGION("write");
	for (long i = 0; i < n_rounds; i++) {
		COMM_REGION("put words");
		put_words(table, frame + i);
	}
	for (long i = 0; i < n_rounds; i++) {
		COMM_REGION("put objects");
		put_orders(frame + i);
		put_items((int)(frame + i));
	}
	for (long i = 0; i < n_rounds; i += NOTED_EVERY) {
		COMM_REGION("put notes");
		put_words(notes[frame % 2], frame + i);
	}
}

static void read_frame(long frame)
{
	COMM_REGION("read");
	for (long i = 0; i < n_rounds; i++) {
		COMM_REGION("get words");
		sink = (double)get_words(table);
	}
	for (long i = 0; i < n_rounds; i++) {
		COMM_REGION("get objects");
		sink = get_orders() + get_items();
	}
	for (long i = 0; i < n_rounds && frame; i += NOTED_EVERY) {
		COMM_REGION("get notes");
		sink = (double)get_words(notes[(frame - 1) % 2]);
	}
}

static void *reader(void *unused)
{
	(void)unused;
	for (long i = 0; i < n_frames; i++) {
		await(2 * i + 1);
		read_frame(i);
		pass();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 2;
	n_frames = atol(argv[1]);
	n_rounds = atol(argv[2]);
	items = calloc(ITEMS, sizeof(*items));
	orders = calloc(ORDERS, sizeof(*orders));
	if (!items || !orders)
		return 1;
	if (pthread_create(&thread, NULL, reader, NULL))
		return 1;
	for (long i = 0; i < n_frames; i++) {
		await(2 * i);
		COMM_FRAME();
		write_frame(i);
		pass();
	}
	pthread_join(thread, NULL);
	return 0;
}
