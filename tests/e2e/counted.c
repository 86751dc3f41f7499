// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of known counts, for counts.sh: a pair that plays ping-pong over pipes, one that
 * touches pages, one that spins.  Each prints the kernel's own counts of it at its end: tid, what it
 * did, ns of CPU time, voluntary and involuntary switches, minor faults.
 *
 * counted [SECONDS]: with SECONDS of CPU time it spins before and after it has printed "ready".
 * counted faults SECONDS: one touches fresh pages and sleeps, over and over, while the other spins for
 * SECONDS of CPU time on the same CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 2000, PAGES = 3000, PAGE = 4096, AT_ONCE = 10 };

static int there[2], back[2];
static volatile double sum;
static atomic_bool spun;

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void say(const char *what)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	printf("%d %s %lld %ld %ld %ld\n", gettid(), what, cpu_ns(), r.ru_nvcsw, r.ru_nivcsw,
	       r.ru_minflt);
}

static void spin(double seconds)
{
	for (long long until = cpu_ns() + (long long)(seconds * 1e9); cpu_ns() < until;)
		for (int i = 0; i < 100000; i++)
			sum = sum + i;
}

static void *play(void *first)
{
	const int *in = first ? back : there, *out = first ? there : back;
	char ball = 0;

	if (first && write(out[1], &ball, 1) != 1)
		exit(1);
	for (int i = 0; i < ROUNDS; i++)
		if (read(in[0], &ball, 1) != 1 || write(out[1], &ball, 1) != 1)
			exit(1);
	say("play");
	return NULL;
}

static void touch_pages(int n)
{
	size_t bytes = (size_t)n * PAGE;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE))
		exit(1);
	for (size_t i = 0; i < bytes; i += PAGE)
		memory[i] = 1;
	munmap(memory, bytes);
}

static void *touch(void *unused)
{
	(void)unused;
	touch_pages(PAGES);
	say("touch");
	return NULL;
}

static void *touch_on(void *unused)
{
	const struct timespec nap = {.tv_nsec = 20000};

	(void)unused;
	while (!spun) {
		touch_pages(AT_ONCE);
		nanosleep(&nap, NULL);
	}
	say("touch");
	return NULL;
}

static int touch_beside_spin(double seconds)
{
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) ||
	    pthread_create(&thread, NULL, touch_on, NULL))
		return 1;
	spin(seconds);
	say("spin");
	spun = true;
	return pthread_join(thread, NULL);
}

static void *turn(void *unused)
{
	(void)unused;
	spin(1.2);
	say("spin");
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*const work[])(void *) = {play, play, touch, turn};
	pthread_t thread[4];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && !strcmp(argv[1], "faults"))
		return touch_beside_spin(atof(argv[2]));
	if (argc > 1) {
		spin(atof(argv[1]));
		puts("ready");
		spin(3600);
	}
	if (pipe(there) || pipe(back))
		return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, work[i], i ? NULL : &thread))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
