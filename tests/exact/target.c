/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs whose communication is known in advance, one per name; check.sh
 * knows what each must come to.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"

enum {
	WORDS = 1024,
	READERS = 40,
};

static uint64_t data[WORDS] __attribute__((aligned(64)));
static uint64_t *block[2];
static uint64_t counter;

#define ALONE __attribute__((noinline, noclone))

static ALONE void produce(uint64_t *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile uint64_t *)word)[i] = i;
}

static ALONE void consume(const uint64_t *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)((const volatile uint64_t *)word)[i];
}

/* Runs start(arg) in a thread of that name, to its end. */
static void in_thread(void *(*start)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, arg) || pthread_join(thread, NULL))
		abort();
}

static void *consumer(void *arg)
{
	prctl(PR_SET_NAME, "consumer");
	consume(arg, WORDS);
	return NULL;
}

static void *twice(void *arg)
{
	consume(arg, WORDS);
	consume(arg, WORDS);
	return NULL;
}

/* Stopped: not counted, but written all the same.  Then two phases. */
static void marks(void)
{
	COMM_EXACT_STOP();
	produce(data, WORDS);
	in_thread(consumer, data);
	COMM_EXACT_START();
	COMM_EXACT_PHASE("one");
	in_thread(consumer, data);
	COMM_EXACT_PHASE("two");
	consume(data, WORDS / 2);
}

/* More readers than there are bits in a shadow word. */
static void many(void)
{
	for (int round = 0; round < 2; round++) {
		produce(data, WORDS);
		for (int i = 0; i < READERS; i++)
			in_thread(twice, data);
	}
}

/* What the kernel writes for this thread, and reads for the other one. */
static void *send_it(void *arg)
{
	const int *fd = arg;

	if (write(fd[1], data, sizeof(data)) != sizeof(data))
		abort();
	return NULL;
}

static void kernel(void)
{
	int fd[2];

	produce(data, WORDS);
	if (pipe(fd))
		abort();
	in_thread(send_it, fd);
	if (read(fd[0], data, sizeof(data)) != sizeof(data))
		abort();
	in_thread(consumer, data);
}

static void calls(void)
{
	produce(data, 100);
	consume(data, 100);
	produce(data, 10);
	produce(data, 1);
	consume(data, 100);
}

static ALONE uint64_t *make_a(void)
{
	return malloc(WORDS * sizeof(uint64_t));
}

static ALONE uint64_t *make_b(void)
{
	return calloc(WORDS, sizeof(uint64_t));
}

static void heap(void)
{
	block[0] = make_a();
	block[1] = make_b();
	produce(block[0], WORDS);
	produce(block[1], WORDS / 2);
	in_thread(consumer, block[0]);
	in_thread(consumer, block[1]);
}

/* Instructions that access no memory, two a turn. */
static ALONE void spin(uint64_t turns)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
}

/* Read 0.2 and 60 million instructions after it is written, and after 1.2 s without any. */
static void ages(void)
{
	for (int round = 0; round < 3; round++) {
		produce(data, WORDS);
		if (round < 2)
			spin(round ? 30000000 : 100000);
		else
			usleep(1200000);
		consume(data, WORDS);
	}
}

/* The same but for the turns, and for those that are stopped. */
static void *spinner(void *turns)
{
	prctl(PR_SET_NAME, "spinner");
	spin((uintptr_t)turns);
	COMM_EXACT_STOP();
	spin(3 * (uintptr_t)turns);
	COMM_EXACT_START();
	return NULL;
}

static void instructions(void)
{
	/* Calls that are made for the first time take longer. */
	in_thread(spinner, (void *)10);
	in_thread(spinner, (void *)1000);
	in_thread(spinner, (void *)251000);
}

static uint64_t *guarded;

static void unprotect(int signo)
{
	(void)signo;
	if (mprotect(guarded, 4096, PROT_READ | PROT_WRITE))
		_exit(1);
}

/* The second store faults, and is made again afterwards. */
static ALONE void two_stores(uint64_t *a, uint64_t *b)
{
	__asm__ volatile("movq $1, (%0)\n\tmovq (%0), %%rax\n\tmovq $2, (%1)\n\tmovq (%1), %%rcx"
			 :
			 : "r"(a), "r"(b)
			 : "rax", "rcx", "memory");
}

static void fault(void)
{
	struct sigaction action = {.sa_handler = unprotect};

	sigaction(SIGSEGV, &action, NULL);
	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded == MAP_FAILED)
		abort();
	two_stores(data, guarded);
}

static ALONE void add(void)
{
	for (int i = 0; i < 500; i++)
		__atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
}

static void *adder(void *arg)
{
	(void)arg;
	add();
	return NULL;
}

static void atomic(void)
{
	for (int i = 0; i < 4; i++)
		in_thread(adder, NULL);
}

static void forks(void)
{
	pid_t pid;

	produce(data, WORDS);
	consume(data, WORDS);
	pid = fork();
	if (!pid) {
		consume(data, 10);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		abort();
	consume(data, 1);
}

static void execs(void)
{
	produce(data, WORDS);
	consume(data, WORDS);
	execl("/bin/true", "true", (char *)NULL);
	abort();
}

static void moves(void)
{
	uint64_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	produce(p, WORDS);
	p = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		abort();
	in_thread(consumer, p);
	munmap(p, 1 << 20);
	p = mmap(p, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED)
		abort();
	/* New memory: the old writer must be forgotten. */
	in_thread(consumer, p);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {
		{"marks", marks},   {"many", many},   {"kernel", kernel},
		{"calls", calls},   {"heap", heap},   {"fault", fault},
		{"atomic", atomic}, {"forks", forks}, {"execs", execs},
		{"moves", moves},   {"ages", ages},   {"instructions", instructions},
	};

	for (size_t i = 0; argc == 2 && i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!strcmp(argv[1], programs[i].name)) {
			programs[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: target NAME\n");
	return 2;
}
