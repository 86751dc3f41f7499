// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose calls of one function do different things, for commd --calls.  Built with libcomm-exact.
 * Each way of running it, the first argument, hands over bytes that tests/e2e/calls.sh knows.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <comm/mark.h>

enum { WORDS = 1000, MANY = 5000, DEEP = 100, LETTERS = 15 };

static long a[WORDS], b[WORDS], word;
static volatile long sink;
static jmp_buf back;

static __attribute__((noinline)) void fill(long *to, long n)
{
	for (long i = 0; i < n; i++)
		to[i] = i;
}

static __attribute__((noinline)) long add_up(const long *of, long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += of[i];
	return sum;
}

/* Its calls differ: the first writes a, the second reads a and writes b, others read b. */
static __attribute__((noinline)) void step(int nth)
{
	if (nth == 1)
		fill(a, WORDS);
	if (nth == 2) {
		sink = add_up(a, WORDS);
		fill(b, WORDS);
	}
	if (nth > 2)
		sink = add_up(b, 100 * nth);
}

static void *step_in_thread(void *nth)
{
	step((int)(long)nth);
	return NULL;
}

static void steps(void)
{
	pthread_t thread;

	step(1);
	step(2);
	step(3);
	if (pthread_create(&thread, NULL, step_in_thread, (void *)4))
		abort();
	pthread_join(thread, NULL);
	/* Outside of all calls. */
	sink = add_up(b, WORDS);
}

/* Writes n words of a, in calls within each other, and reads what the innermost one wrote. */
static __attribute__((noinline)) void down(long n)
{
	a[n] = n;
	if (n)
		down(n - 1);
	sink = a[0];
}

static __attribute__((noinline)) void tick(void)
{
	word++;
}

static void right(int n);

/* Two that call each other in as many ways as there are words of n letters. */
static __attribute__((noinline)) void left(int n)
{
	word++;
	if (n) {
		left(n - 1);
		right(n - 1);
	}
}

static __attribute__((noinline)) void right(int n)
{
	word += 2;
	if (n) {
		left(n - 1);
		right(n - 1);
	}
}

static __attribute__((noinline)) void marked(void)
{
	fill(a, 10);
	{
		COMM_REGION("inner");
		sink = add_up(a, 20);
		fill(b, 10);
	}
	sink = add_up(b, 10);
}

static __attribute__((noinline)) void marked_tick(void)
{
	COMM_REGION("tick");
	word++;
}

static void within_marks(void)
{
	COMM_REGION("outer");
	fill(a + 10, 10);
	marked();
	sink = add_up(a, 20);
}

static __attribute__((noinline)) void jump(void)
{
	word++;
	longjmp(back, 1);
}

static __attribute__((noinline)) void leap(long n)
{
	fill(a, n);
	jump();
}

static __attribute__((noinline)) void catch_leap(void)
{
	if (!setjmp(back))
		leap(100);
}

/* Its stack is moved at run time, so that where its entry was says little of its exit. */
static __attribute__((noinline)) long moved(long n)
{
	long *own = alloca((size_t)n * sizeof(*own));

	fill(own, n);
	return add_up(own, n);
}

static void leaps(void)
{
	catch_leap();
	sink = add_up(a, 100);
	sink = moved(300);
	/* No function begins or ends behind that one. */
	for (int i = 0; i < 100; i++)
		sink = a[i];
}

static __attribute__((noinline)) void forks(long *shared)
{
	int status;
	pid_t pid;

	fill(shared, WORDS);
	pid = fork();
	if (!pid) {
		sink = add_up(shared, WORDS);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "steps"))
		steps();
	if (!strcmp(how, "down"))
		down(DEEP - 1);
	for (int i = 0; !strcmp(how, "ticks") && i < MANY; i++)
		tick();
	for (int i = 0; !strcmp(how, "marked ticks") && i < MANY; i++)
		marked_tick();
	if (!strcmp(how, "words"))
		left(LETTERS);
	if (!strcmp(how, "marks"))
		within_marks();
	if (!strcmp(how, "leaps"))
		leaps();
	if (!strcmp(how, "forks"))
		forks(mmap(NULL, WORDS * sizeof(long), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	return 0;
}
