// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hands WORDS words to a child in each way that there is but shared memory, for tests/e2e/exact_channels.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 100, BYTES = WORDS * sizeof(uint64_t) };

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

int main(void)
{
	char path[] = "/tmp/channeled.XXXXXX";
	struct iovec halves[] = {{pipe_in, BYTES / 2}, {pipe_in + WORDS / 2, BYTES / 2}};
	int pipes[2], sockets[2], file = mkstemp(path), zero = open("/dev/zero", O_RDWR);

	through_memory();
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
