// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Targets that are hard to watch cheaply: storm NAME [THREADS], one of the table below.
 * Each does rounds of the same piece of work and prints, every 200 ms, how many were done and
 * the CPU time that it and its ended children used, so that the cost of a profiler can be
 * measured on a machine that others use, too: a round then takes more CPU time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WORDS = 512,
	SPINS = 100, /* passes over the words in a round */
	PAGE = 4096,
	MAPPINGS = 64000,
	SLEEPERS = 2000,
	RUNNABLE = 64, /* unless told: thousands make the machine useless to others */
	RUNNABLE_MOST = 10000,
	TURN_MS = 1500,
	NAMES = 400000,
	NAMES_LATE_S = 6,
	CPUS = 2,
	STACK_BYTES = 64 * 1024,
};

static _Atomic uint64_t *rounds; /* shared with children */
static int runnable_threads = RUNNABLE;

/* Some 50 us. */
static void work(void)
{
	static _Thread_local volatile uint64_t data[WORDS];

	for (int k = 0; k < SPINS; k++)
		for (int i = 0; i < WORDS; i++)
			data[i] += data[(i * 7 + 1) % WORDS] * 3 + (uint64_t)i;
	++*rounds;
}

static void *work_once(void *arg)
{
	work();
	return arg;
}

static void *work_always(void *arg)
{
	for (;;)
		work();
	return arg;
}

static void *wait_always(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Two threads that pass a byte on and wait for it: a round is two switches. */
static int ping[2], pong[2];

static void *passes(void *arg)
{
	const int *from = arg ? pong : ping, *to = arg ? ping : pong;
	char byte = 0;

	if (arg && write(ping[1], &byte, 1) != 1)
		return NULL;
	while (read(from[0], &byte, 1) == 1 && write(to[1], &byte, 1) == 1)
		if (arg)
			++*rounds;
	return NULL;
}

static void start(void *(*fn)(void *), int n)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&thread, &attr, fn, NULL)) {
			perror("storm: pthread_create");
			exit(1);
		}
	}
}

static void fork_once(void)
{
	pid_t pid = fork();

	if (!pid) {
		work();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void exec_once(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "storm", "child", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	++*rounds;
}

static void thread_once(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, work_once, NULL))
		pthread_join(thread, NULL);
}

static void map_once(void)
{
	static _Thread_local FILE *file;
	void *p;

	if (!file) {
		file = tmpfile();
		if (!file || ftruncate(fileno(file), PAGE))
			exit(1);
	}
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
	munmap(p, PAGE);
	work();
}

static void *forks(void *arg)
{
	for (;;)
		fork_once();
	return arg;
}

static void *execs(void *arg)
{
	for (;;)
		exec_once();
	return arg;
}

static void *threads(void *arg)
{
	for (;;)
		thread_once();
	return arg;
}

static void *maps_files(void *arg)
{
	for (;;)
		map_once();
	return arg;
}

/*
 * Runs generated code, which gets its name late, in a perf map of so many others that reading
 * it takes half a second.
 */
static void *generates(void *arg)
{
	/* mov ecx, 100000; loop: dec ecx; jnz loop; ret */
	static const unsigned char code[] = {0xb9, 0xa0, 0x86, 0x01, 0x00,
					     0xff, 0xc9, 0x75, 0xfc, 0xc3};
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	time_t late = time(NULL) + NAMES_LATE_S;
	char path[64];
	FILE *map = NULL;

	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	for (;;) {
		((void (*)(void))at)();
		++*rounds;
		if (map || time(NULL) < late)
			continue;
		map = fopen(path, "we");
		for (uintptr_t i = 0; map && i < NAMES; i++)
			fprintf(map, "%lx 10 method%lu\n", (unsigned long)at + i * 16, i);
		if (!map || fclose(map))
			exit(1);
	}
	return arg;
}

/* All of them in turn. */
static void *changes(void *arg)
{
	static void (*const once[])(void) = {fork_once, exec_once, thread_once, map_once, work};
	struct timespec now;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		once[((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) / TURN_MS %
		     (sizeof(once) / sizeof(once[0]))]();
	}
	return arg;
}

/* Neighbours differ in their protection, so that the kernel does not join them. */
static void many_mappings(void)
{
	char *all = mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; all != MAP_FAILED && i < MAPPINGS; i += 2)
		if (mprotect(all + i * PAGE, PAGE, PROT_READ))
			break;
}

static void fork_storm(void)
{
	start(forks, CPUS);
}

static void exec_storm(void)
{
	start(execs, CPUS);
}

static void thread_storm(void)
{
	start(threads, CPUS);
}

static void mmap_storm(void)
{
	start(maps_files, CPUS);
}

static void generated_code(void)
{
	start(generates, 1);
}

static void change_storm(void)
{
	generated_code();
	start(changes, CPUS);
}

static void mappings(void)
{
	many_mappings();
	start(work_always, CPUS);
}

static void sleepers(void)
{
	start(wait_always, SLEEPERS);
	start(work_always, CPUS);
}

static void runnable(void)
{
	start(work_always, runnable_threads);
}

static void switches(void)
{
	static int first;
	pthread_t thread[2];

	if (pipe(ping) || pipe(pong))
		return;
	pthread_create(&thread[0], NULL, passes, NULL);
	pthread_create(&thread[1], NULL, passes, &first);
}

static void spin(void)
{
	start(work_always, CPUS);
}

static const struct {
	const char *name;
	void (*begin)(void);
} storms[] = {
	{"spin", spin},
	{"fork", fork_storm},
	{"exec", exec_storm},
	{"threads", thread_storm},
	{"mmap", mmap_storm},
	{"mappings", mappings},
	{"generated", generated_code},
	{"changes", change_storm},
	{"sleepers", sleepers},
	{"runnable", runnable},
	{"switches", switches},
};

static uint64_t used_ns(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

int main(int argc, char **argv)
{
	const struct timespec pause_time = {0, 200000000};
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "child"))
		return 0;
	for (i = 0; i < sizeof(storms) / sizeof(storms[0]); i++)
		if (argc >= 2 && !strcmp(argv[1], storms[i].name))
			break;
	if (argc == 3)
		runnable_threads = atoi(argv[2]);
	if (i == sizeof(storms) / sizeof(storms[0]) || argc > 3 || runnable_threads < 1 ||
	    runnable_threads > RUNNABLE_MOST) {
		fprintf(stderr, "usage: storm NAME [THREADS], THREADS for runnable, NAME one of:");
		for (i = 0; i < sizeof(storms) / sizeof(storms[0]); i++)
			fprintf(stderr, " %s", storms[i].name);
		fputc('\n', stderr);
		return 2;
	}
	rounds = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rounds == MAP_FAILED)
		return 1;
	storms[i].begin();
	for (;;) {
		nanosleep(&pause_time, NULL);
		printf("%lu %lu\n", (unsigned long)*rounds,
		       (unsigned long)(used_ns(RUSAGE_SELF) + used_ns(RUSAGE_CHILDREN)));
		fflush(stdout);
	}
}
