/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets of live tests: children whose memory layout and actions are known, each a function for
 * start_child().  To be included once by a test program.
 */
#ifndef TESTS_LIVE_TARGETS_H
#define TESTS_LIVE_TARGETS_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, MANY_THREADS = 64, TOUCHED_BYTES = 1 << 24 };

static char buffer[BUFFER_BYTES];
static volatile char *touched;

static inline void *spin(void *arg)
{
	volatile long x[64] = {0};
	long i;

	for (i = 0;; i++)
		x[i & 63] += i;
	return arg;
}

static inline void spinner(void)
{
	pthread_t t;

	pthread_create(&t, NULL, spin, NULL);
	spin(NULL);
}

static inline void reader(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	while (read(fd, buffer, BUFFER_BYTES) > 0)
		;
}

static inline void string_filler(void)
{
	for (;;) {
		void *to = buffer;
		size_t n = BUFFER_BYTES;

		__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	}
}

/* /dev/null would take what is written and read nothing. */
static inline void writer(void)
{
	FILE *file = tmpfile();

	while (file && pwrite(fileno(file), buffer, BUFFER_BYTES, 0) > 0)
		;
}

/* send() and sendmsg() in turn, of so little that samples hardly meet the copy; what arrives is dropped unread. */
static inline void sender(void)
{
	struct iovec piece[] = {{buffer, 24}, {buffer + 4096, 40}};
	const struct msghdr two = {.msg_iov = piece, .msg_iovlen = 2};
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fd))
		return;
	while (send(fd[0], buffer + 512, 56, 0) > 0 && sendmsg(fd[0], &two, 0) > 0)
		for (int i = 0; i < 2; i++)
			recv(fd[1], NULL, 0, 0);
}

/* Writes byte at of each of the fresh pages, in steps of so many pages, which wrap around at their end. */
static inline void touch_pages(long step, long at)
{
	const long n = TOUCHED_BYTES / 4096;

	for (;;) {
		for (long i = 0; i < n; i++)
			touched[((i * step) % n + n) % n * 4096 + at] = 1;
		madvise((void *)touched, TOUCHED_BYTES, MADV_DONTNEED);
		usleep(100000);
	}
}

static inline void sweeper(void)
{
	touch_pages(1, 0);
}

static inline void down_sweeper(void)
{
	touch_pages(-1, 4095);
}

static inline void scatterer(void)
{
	touch_pages(5, 0);
}

/* Far enough from each other to be told apart. */
__attribute__((noinline, aligned(1024))) static void fill_page(volatile char *page)
{
	*page = 1;
}

__attribute__((noinline, aligned(1024))) static void mark_page(volatile char *page)
{
	*page = 2;
}

static long
	turn_pages; /* the last of so many pages is mark_page()'s, all others are fill_page()'s */

static inline void (*filler(long page))(volatile char *)
{
	return (page + 1) % turn_pages ? fill_page : mark_page;
}

static inline void two_fillers(void)
{
	for (;;) {
		for (long i = 0; i < TOUCHED_BYTES / 4096; i++)
			filler(i)(touched + i * 4096);
		madvise((void *)touched, TOUCHED_BYTES, MADV_DONTNEED);
		usleep(100000);
	}
}

static inline void sleeper(void)
{
	pause();
}

/* The last thread that was joined, and when it lived; shared with the test. */
static struct brief {
	volatile uint32_t tid;
	volatile uint64_t time_ns;
} * brief;

static inline void *name_itself(void *ret)
{
	struct timespec now;
	struct brief *own = ret;

	prctl(PR_SET_NAME, "brief");
	own->tid = (uint32_t)gettid();
	clock_gettime(CLOCK_MONOTONIC, &now);
	own->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return NULL;
}

static inline void brief_threads(void)
{
	struct brief own;
	pthread_t t;

	for (;;) {
		if (pthread_create(&t, NULL, name_itself, &own))
			continue;
		pthread_join(t, NULL);
		*brief = own;
		usleep(20000);
	}
}

static inline void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

static inline void crowd(void)
{
	pthread_t t;
	int i;

	for (i = 1; i < MANY_THREADS; i++)
		pthread_create(&t, NULL, wait_for_ever, NULL);
	spin(NULL);
}

/* Forks, renames itself, executes, over and over. */
static inline void lively(void)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			volatile long i;

			for (i = 0; i < 30000000; i++)
				;
			execlp("true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		prctl(PR_SET_NAME, "lively");
	}
}

/* Has another name in each turn. */
static inline void renaming(void)
{
	for (unsigned int turn = 0;; turn++) {
		char name[16];

		snprintf(name, sizeof(name), "turn %u", turn);
		prctl(PR_SET_NAME, name);
	}
}

/* Two processes pass a byte to and fro; they end with their parent. */
static inline void ping_pong(void)
{
	int there[2], back[2];
	char byte = 0;

	if (pipe(there) || pipe(back))
		return;
	for (int i = 0; i < 2; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!i && write(there[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			if (read(i ? there[0] : back[0], &byte, 1) != 1 ||
			    write(i ? back[1] : there[1], &byte, 1) != 1)
				_exit(0);
	}
}

/* Forks without end, beside two processes that switch without end. */
static inline void restless(void)
{
	ping_pong();
	for (;;) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

/* Short-lived children, one after the other, that do nearly all the work. */
static inline void parent_of_many(void)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			volatile long i;

			for (i = 0; i < 3000000; i++)
				;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static inline pid_t start_child(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn();
		_exit(0);
	}
	usleep(200000);
	return pid;
}

static inline void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static volatile sig_atomic_t is_told;

static inline void on_told(int number)
{
	is_told = number;
}

/* Sleeps, but for a child that it has when it is told to. */
static inline void late_parent(void)
{
	signal(SIGUSR1, on_told);
	while (!is_told)
		usleep(10000);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin(NULL);
	}
	pause();
}

static inline void have_child(pid_t pid)
{
	kill(pid, SIGUSR1);
	usleep(300000);
}

#endif
