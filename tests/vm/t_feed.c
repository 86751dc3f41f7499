// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program fed through a pipe: one thread reads blocks, which the kernel copies
 * in, and another adds each block up.  Whatever that one reads of the other's was
 * written in the kernel.  Ends when it is told, and says how much it was.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "cptest.h"

enum { BLOCK_BYTES = 1 << 16 };

static uint64_t block[BLOCK_BYTES / 8];
static sem_t full, empty;
static volatile uint64_t sum;

__attribute__((noinline)) static uint64_t add_up(void)
{
	uint64_t all = 0;

	for (int i = 0; i < BLOCK_BYTES / 8; i++)
		all += ((volatile uint64_t *)block)[i];
	return all;
}

static void *adder(void *unused)
{
	pthread_setname_np(pthread_self(), "adder");
	for (;;) {
		sem_wait(&full);
		sum = add_up();
		sem_post(&empty);
	}
	return unused;
}

static void feed(void *argument)
{
	static uint8_t from[BLOCK_BYTES];
	const int *end = argument;

	close(end[0]);
	while (write(end[1], from, sizeof(from)) > 0)
		;
}

void test_feed(void)
{
	uint64_t bytes = 0;
	pthread_t thread;
	ssize_t got;
	pid_t pid;
	int end[2];

	if (pipe(end))
		return;
	pid = spawn(feed, end);
	close(end[1]);
	sem_init(&full, 0, 0);
	sem_init(&empty, 0, 1);
	pthread_create(&thread, NULL, adder, NULL);
	while (!told()) {
		sem_wait(&empty);
		for (size_t at = 0; at < BLOCK_BYTES; at += got) {
			got = read(end[0], (uint8_t *)block + at, BLOCK_BYTES - at);
			if (got <= 0)
				return;
		}
		bytes += BLOCK_BYTES;
		sem_post(&full);
	}
	reap(pid);
	printf("bytes %lu tid %d\n", bytes, (int)getpid());
}
