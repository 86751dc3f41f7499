// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A service whose threads, processes and mappings come and go, for tests/soak/soak.sh.
 *
 *	service THREADS: so many stay; others live for a moment
 *
 * It uses some tenth of a core, however many threads stay.  SIGUSR1 has it exec itself anew.  It
 * ends with who started it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CELLS = 4096,
	ROUNDS = 15000,		 /* of work at a time: some 30 us */
	WORKS_PER_S = 2000,	 /* of all threads that stay */
	TURN_US = 25 * 1000,	 /* a thread comes and goes, each */
	TURNS_PER_PROCESS = 20,	 /* and a process, */
	TURNS_PER_MAPPING = 4,	 /* and a mapping */
	MAPPINGS = 64,		 /* at once */
	MAPPING_BYTES = 1 << 16, /* and up to 8 times that */
	STACK_BYTES = 64 << 10,
};

static unsigned int cells[CELLS];
static unsigned int n_stay = 4;
static volatile sig_atomic_t told;

/* Writes where another thread reads next. */
static void work(unsigned int *seed)
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned int at = (*seed = *seed * 1664525 + 1013904223) >> 20;

		cells[at] += cells[(at + 64) % CELLS] + 1;
	}
}

static void *stay(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	useconds_t us = (useconds_t)(1000000ull * n_stay / WORKS_PER_S);

	for (;;) {
		work(&seed);
		usleep(us + seed % 1000);
	}
	return NULL;
}

static void *pass(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "job-%u", seed % 1000);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 4; i++)
		work(&seed);
	return NULL;
}

static void start(void *(*fn)(void *), unsigned int arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &attr, fn, (void *)(uintptr_t)arg);
	pthread_attr_destroy(&attr);
}

/* Every other child is another program. */
static void start_process(unsigned int turn)
{
	unsigned int seed = turn;

	if (fork())
		return;
	for (int i = 0; i < 8; i++)
		work(&seed);
	if (turn / TURNS_PER_PROCESS % 2)
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static void turn_mapping(unsigned int i)
{
	static struct {
		unsigned char *at;
		size_t bytes;
	} mapping[MAPPINGS];
	size_t slot = i % MAPPINGS, bytes = (size_t)MAPPING_BYTES * (1 + i % 8);
	FILE *file = i % 2 ? tmpfile() : NULL;
	int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	if (mapping[slot].at)
		munmap(mapping[slot].at, mapping[slot].bytes);
	mapping[slot].at = NULL;
	if (file && ftruncate(fileno(file), (off_t)bytes)) {
		fclose(file);
		return;
	}
	mapping[slot].at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file ? fileno(file) : -1, 0);
	if (file)
		fclose(file);
	if (mapping[slot].at == MAP_FAILED) {
		mapping[slot].at = NULL;
		return;
	}
	mapping[slot].bytes = bytes;
	for (size_t k = 0; k < bytes; k += 4096)
		mapping[slot].at[k] = (unsigned char)k;
}

static void tell(int signal)
{
	(void)signal;
	told = 1;
}

int main(int argc, char **argv)
{
	pid_t parent = getppid();
	sigset_t none;

	n_stay = argc > 1 ? (unsigned int)atoi(argv[1]) : n_stay;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || !n_stay)
		return 1;
	signal(SIGUSR1, tell);
	/* After an exec in the handler's time it would stay blocked. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (unsigned int i = 0; i < n_stay; i++)
		start(stay, i);
	for (unsigned int turn = 0;; turn++) {
		start(pass, turn);
		if (turn % TURNS_PER_PROCESS == 0)
			start_process(turn);
		if (turn % TURNS_PER_MAPPING == 0)
			turn_mapping(turn / TURNS_PER_MAPPING);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(TURN_US);
		if (told)
			execv("/proc/self/exe", argv);
	}
}
