// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program of known communication, for tests/e2e/capabilities.sh: capable FRAMES WORDS.  In each frame the main thread
 * loads, a second one blurs and finds edges, and the main thread emits the edges of the frame before.  The script has
 * the bytes of each of these.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <comm/mark.h>

enum { OUT = 100, TABLE = 100, SHARED = 100, SPINS = 5000000 };

static uint64_t *in, *mid, *out[2];
static uint64_t table[TABLE];
/* Of two threads, in one word of eight bytes. */
static struct {
	volatile uint32_t loaded, blurred;
} halves __attribute__((aligned(8)));
static sem_t loaded, found;
static long frames, words;
static volatile uint64_t sink;

#define ALONE __attribute__((noipa))

static ALONE uint64_t *make_in(void)
{
	return malloc(words * sizeof(uint64_t));
}

static ALONE uint64_t *make_mid(void)
{
	return malloc(words * sizeof(uint64_t));
}

static ALONE uint64_t *make_out(void)
{
	return malloc(OUT * sizeof(uint64_t));
}

static ALONE void set_up(void)
{
	for (int i = 0; i < TABLE; i++)
		((volatile uint64_t *)table)[i] = i;
	for (int i = 0; i < OUT; i++)
		((volatile uint64_t *)out[0])[i] = i;
}

static ALONE void load(volatile uint64_t *to, long frame)
{
	for (long i = 0; i < words; i++)
		to[i] = frame + i;
	halves.loaded = frame;
}

static ALONE uint64_t add_up(const volatile uint64_t *of, long n)
{
	uint64_t sum = 0;

	for (long i = 0; i < n; i++)
		sum += of[i];
	return sum;
}

/* All of what was loaded, and a tenth of it again for each frame up to this one. */
static ALONE void blur(const uint64_t *from, volatile uint64_t *to, long frame)
{
	uint64_t sum = add_up(from, words);

	for (long i = 0; i < frame && i < 10; i++)
		sum += add_up(from, words / 10);
	for (long i = 0; i < words / 2; i++)
		to[i] = sum + i;
	halves.blurred = frame;
}

static ALONE void edge(const uint64_t *from, volatile uint64_t *to)
{
	uint64_t sum = add_up(from, words / 2) + add_up(table, TABLE);

	for (long i = 0; i < OUT; i++)
		to[i] = sum + i;
}

static ALONE void emit(const uint64_t *from)
{
	sink = add_up(from, OUT) + halves.loaded + halves.blurred;
}

/* To a child, which sees it at the same place. */
static ALONE void hand_over(volatile uint64_t *shared)
{
	for (int i = 0; i < SHARED; i++)
		shared[i] = i;
	if (!fork()) {
		sink = add_up(shared, SHARED);
		_exit(0);
	}
	wait(NULL);
}

/* Two instructions a turn. */
static ALONE void spin(uint64_t turns)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
}

static void *work(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "worker");
	for (long frame = 1; frame <= frames; frame++) {
		sem_wait(&loaded);
		if (frame <= 4)
			spin(SPINS);
		{
			COMM_REGION("blur");
			blur(in, mid, frame);
		}
		{
			COMM_REGION("edge");
			edge(mid, out[frame & 1]);
		}
		sem_post(&found);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t worker;

	frames = argc > 2 ? atol(argv[1]) : 4;
	words = argc > 2 ? atol(argv[2]) : 1000;
	in = make_in();
	mid = make_mid();
	out[0] = make_out();
	out[1] = make_out();
	COMM_OBJECT(in, words * sizeof(uint64_t), "IN");
	set_up();
	if (sem_init(&loaded, 0, 0) || sem_init(&found, 0, 0) ||
	    pthread_create(&worker, NULL, work, NULL))
		return 1;
	for (long frame = 1; frame <= frames; frame++) {
		COMM_FRAME();
		{
			COMM_REGION("load");
			load(in, frame);
		}
		sem_post(&loaded);
		sem_wait(&found);
		{
			COMM_REGION("emit");
			emit(out[(frame + 1) & 1]);
		}
	}
	/* Nobody counts what the main thread loads here, nor what it reads of it. */
	COMM_STOP();
	load(mid, 0);
	sink = add_up(mid, words);
	COMM_START();
	pthread_join(worker, NULL);
	hand_over(mmap(NULL, SHARED * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	return 0;
}
