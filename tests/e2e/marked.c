// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with marked regions, of known communication: what is written in "write a" is read
 * in "read a", within "reader", and likewise for b.
 *
 *	marked CPU_MS [plain|fork|exec|wild|stop|long]
 *
 * With -DLIBRARY it is a library, and marked_work() is called by another program.
 */
#include <comm/mark.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 1 << 12 };

static volatile long a[WORDS], b[WORDS], sink;
static long end_ms;
static long hold_ms; /* CPU of the process that a region takes at least, in both threads at once */

/* Of CPU, not of time: a busy machine gives as many samples. */
static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __attribute__((noinline)) void put(volatile long *to)
{
	for (int i = 0; i < WORDS; i++)
		to[i] = i;
}

static __attribute__((noinline)) void get(volatile long *from)
{
	long sum = 0;

	for (int i = 0; i < WORDS; i++)
		sum += from[i];
	sink = sum;
}

/* Once, or again and again while it is the turn of a (0) or b (1). */
static void repeat(void (*work)(volatile long *), volatile long *what, long turn)
{
	do
		work(what);
	while (hold_ms && used_ms() / hold_ms % 2 == turn && used_ms() < end_ms);
}

static void *reader(void *unused)
{
	(void)unused;
	while (used_ms() < end_ms) {
		COMM_REGION("reader");
		{
			COMM_REGION("read a");
			repeat(get, a, 0);
		}
		{
			COMM_REGION("read b");
			repeat(get, b, 1);
		}
	}
	return NULL;
}

/* Words that point anywhere, and a depth that is none. */
static void *wild(void *unused)
{
	unsigned long seed = 1;

	(void)unused;
	while (used_ms() < end_ms) {
		for (int i = 0; i < COMM_MARK_DEPTH; i++) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			comm_mark_thread.name[i] = (const char *)(seed >> (seed & 63));
		}
		__asm__ volatile("" ::: "memory");
		comm_mark_thread.depth = seed & 1 ? seed : 1 + (seed >> 1 & 7);
		get(a);
	}
	return NULL;
}

void marked_work(long cpu_ms, int is_wild)
{
	pthread_t thread[2];

	end_ms = used_ms() + cpu_ms;
	COMM_OBJECT((const void *)a, sizeof(a), "halves");
	COMM_OBJECT((const void *)(b + WORDS / 2), sizeof(b) / 2, "halves");
	pthread_create(&thread[0], NULL, reader, NULL);
	if (is_wild)
		pthread_create(&thread[1], NULL, wild, NULL);
	while (used_ms() < end_ms) {
		{
			COMM_REGION("write a");
			repeat(put, a, 0);
		}
		{
			COMM_REGION("write b");
			repeat(put, b, 1);
		}
	}
	pthread_join(thread[0], NULL);
	if (is_wild)
		pthread_join(thread[1], NULL);
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "plain";
	long cpu_ms = argc > 1 ? atol(argv[1]) : 1;
	pid_t child;

	if (!strcmp(how, "plain") || !strcmp(how, "wild")) {
		marked_work(cpu_ms, *how == 'w');
	} else if (!strcmp(how, "long")) {
		hold_ms = cpu_ms / 6;
		marked_work(cpu_ms, 0);
	} else if (!strcmp(how, "stop")) {
		COMM_STOP();
		{ /* Counted as COMM_LOSS_STOPPED. */
			COMM_REGION("not wanted");
			marked_work(cpu_ms, 0);
		}
		COMM_START();
		marked_work(cpu_ms, 0);
	} else if (!strcmp(how, "fork")) {
		COMM_REGION("before fork");
		child = fork();
		if (!child)
			marked_work(cpu_ms, 0);
		else
			waitpid(child, NULL, 0);
	} else if (!strcmp(how, "exec")) {
		COMM_REGION("before exec");
		execl(argv[0], argv[0], argv[1], (char *)NULL);
		return 1;
	}
	return 0;
}
#endif
