// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * foreign: names beyond ASCII.  Functions and an object have letters of other scripts, and so have two
 * threads; two more have names that differ in one byte, which is no UTF-8.  One writes what the others read.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { WORDS = 1 << 14 };

static volatile long größe[WORDS];

static __attribute__((noinline)) void größe_schreiben(void)
{
	for (long i = 0;; i++)
		größe[i % WORDS] = i;
}

static __attribute__((noinline)) long 読む(void)
{
	long sum = 0;

	for (long i = 0;; i++)
		sum += größe[i % WORDS];
	return sum;
}

static void *reader(void *name)
{
	prctl(PR_SET_NAME, name);
	読む();
	return NULL;
}

int main(void)
{
	static char *const names[] = {"читатель\"<b>", "same\xff", "same\xfe"};
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, reader, names[i]))
			return 1;
	prctl(PR_SET_NAME, "écrit\t;,");
	größe_schreiben();
	return 0;
}
