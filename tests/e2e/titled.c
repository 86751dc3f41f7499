// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * titled PADDING: a process whose children write what they do over their command line, as
 * servers do.  One of them writes shared memory, and two read it, until the first process ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { WORDS = 4096 };

static volatile long *shared;

static void writer(void)
{
	for (long i = 0;; i++)
		shared[i % WORDS] = i;
}

static void reader(void)
{
	for (long i = 0, sum = 0;; i++) {
		sum += shared[i % WORDS];
		if (sum == -1)
			exit(1);
	}
}

static void start(char **argv, const char *title, void (*work)(void))
{
	size_t bytes = (size_t)(argv[1] + strlen(argv[1]) - argv[0]);

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strlen(title) >= bytes)
		exit(1);
	memset(argv[0], 0, bytes);
	strcpy(argv[0], title);
	work();
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: titled PADDING\n");
		return 2;
	}
	shared = mmap(NULL, WORDS * sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	start(argv, "titled: writer --password=hunter2", writer);
	start(argv, "titled: reader 1", reader);
	start(argv, "titled: reader 2", reader);
	pause();
	return 0;
}
