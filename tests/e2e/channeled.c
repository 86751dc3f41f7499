// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hands WORDS words to a child in each way that there is but shared memory, and to a thread what two others have sent, for
 * tests/e2e/exact_channels.sh.  With an argument it fills more pipes than can be followed, and reads one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 100, BYTES = WORDS * sizeof(uint64_t), PIPES = 6 };

static volatile uint64_t sink;

#define ALONE __attribute__((noipa))

/* Of the way alone: who writes for it, and who reads what came by it. */
#define WAY(name)                                                   \
	static uint64_t name##_out[WORDS], name##_in[WORDS];        \
	static ALONE void fill_##name(void)                         \
	{                                                           \
		for (int i = 0; i < WORDS; i++)                     \
			((volatile uint64_t *)name##_out)[i] = i;   \
	}                                                           \
	static ALONE void drain_##name(void)                        \
	{                                                           \
		uint64_t sum = 0;                                   \
		for (int i = 0; i < WORDS; i++)                     \
			sum += ((volatile uint64_t *)name##_in)[i]; \
		sink = sum;                                         \
	}

WAY(pipe)
WAY(socket)
WAY(file)
WAY(device)

/* Of two threads that send, in this order, and one that reads it all, but otherwise cut; and what a stranger sends. */
static uint64_t left_out[WORDS], right_out[WORDS], first_in[WORDS + WORDS / 2], last_in[WORDS / 2],
	stranger_in[WORDS];
static int between[2];

static ALONE void fill_left(void)
{
	for (int i = 0; i < WORDS; i++)
		((volatile uint64_t *)left_out)[i] = i;
}

static ALONE void fill_right(void)
{
	for (int i = 0; i < WORDS; i++)
		((volatile uint64_t *)right_out)[i] = i;
}

#define DRAIN(name, n)                                              \
	static ALONE void drain_##name(void)                        \
	{                                                           \
		uint64_t sum = 0;                                   \
		for (int i = 0; i < (n); i++)                       \
			sum += ((volatile uint64_t *)name##_in)[i]; \
		sink = sum;                                         \
	}

DRAIN(first, WORDS + WORDS / 2)
DRAIN(last, WORDS / 2)
DRAIN(stranger, WORDS)

static void must(int is_so)
{
	if (!is_so)
		abort();
}

/* A stream without a descriptor: whoever counts asks for one, and errno stays. */
static void through_memory(void)
{
	char memory[16] = "", word[4] = "abc";
	FILE *f = fmemopen(memory, sizeof(memory), "w+");

	must(f != NULL);
	errno = ENOTTY;
	must(fwrite(word, 1, 4, f) == 4 && errno == ENOTTY);
	rewind(f);
	errno = ENOTTY;
	must(fread(word, 1, 4, f) == 4 && errno == ENOTTY);
	must(!fclose(f));
}

static void *send_left(void *arg)
{
	fill_left();
	must(write(between[1], left_out, BYTES) == BYTES);
	return arg;
}

/* By another descriptor, which is closed before anybody reads; in two parts. */
static void *send_right(void *arg)
{
	struct iovec parts[] = {{right_out, BYTES / 4}, {right_out + WORDS / 4, BYTES / 4 * 3}};
	int copy = dup(between[1]);

	fill_right();
	must(copy >= 0 && writev(copy, parts, 2) == BYTES && !close(copy));
	return arg;
}

static void *receive(void *arg)
{
	must(read(between[0], first_in, sizeof(first_in)) == sizeof(first_in));
	must(read(between[0], last_in, sizeof(last_in)) == sizeof(last_in));
	drain_first();
	drain_last();
	return arg;
}

static void run(void *(*start)(void *))
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, start, NULL) && !pthread_join(thread, NULL));
}

static void between_threads(void)
{
	must(!pipe(between));
	run(send_left);
	run(send_right);
	run(receive);
	/* What another program sends is only known to come from there. */
	if (!fork()) {
		dup2(between[1], 1);
		execl("/usr/bin/head", "head", "-c", "800", "/dev/zero", NULL);
		_exit(1);
	}
	wait(NULL);
	must(read(between[0], stranger_in, BYTES) == BYTES);
	drain_stranger();
}

/* Byte by byte, so that each is told apart. */
static void fill_pipes(void)
{
	int pipes[PIPES][2];
	char c = 'x';

	for (int i = 0; i < PIPES; i++) {
		must(!pipe2(pipes[i], O_NONBLOCK));
		while (write(pipes[i][1], &c, 1) == 1)
			;
	}
	fill_pipe();
	must(read(pipes[0][0], pipe_in, BYTES) == BYTES);
	drain_pipe();
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/channeled.XXXXXX";
	struct iovec halves[] = {{pipe_in, BYTES / 2}, {pipe_in + WORDS / 2, BYTES / 2}};
	int pipes[2], sockets[2], file = mkstemp(path), zero = open("/dev/zero", O_RDWR);

	(void)argv;
	if (argc > 1) {
		fill_pipes();
		return 0;
	}
	through_memory();
	between_threads();
	must(file >= 0 && zero >= 0 && !unlink(path) && !pipe(pipes));
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	fill_pipe();
	fill_socket();
	fill_file();
	fill_device();
	must(write(pipes[1], pipe_out, BYTES) == BYTES);
	must(send(sockets[1], socket_out, BYTES, 0) == BYTES);
	must(pwrite(file, file_out, BYTES, 0) == BYTES);
	must(write(zero, device_out, BYTES) == BYTES);
	if (!fork()) {
		must(readv(pipes[0], halves, 2) == BYTES);
		must(recv(sockets[0], socket_in, BYTES, 0) == BYTES);
		must(pread(file, file_in, BYTES, 0) == BYTES);
		must(read(zero, device_in, BYTES) == BYTES);
		drain_pipe();
		drain_socket();
		drain_file();
		drain_device();
		_exit(0);
	}
	wait(NULL);
	return 0;
}
