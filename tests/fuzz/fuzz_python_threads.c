// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks for names of Python's threads (python_threads.h) in hostile memory: names must be printable, and what is read
 * for a walk be bounded.
 *
 * The memory is a made interpreter's.  The first byte of the input says of which version, the next how its threads have
 * their attributes; then words of it change, five bytes for each: which, how, and to what.
 */
#include "made_python.h"
#include "python_threads.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 2, CHANGE = 5, THREADS = 5, READS_MOST = 3072, WORDS_MOST = 256, TURNS = 2 };

struct memory {
	struct made_python made;
	unsigned int n_reads;
	uint64_t now_ns;
};

static ssize_t look(const struct memory *memory, uint64_t addr, void *buf, size_t bytes)
{
	uint64_t at = addr - MADE_AT;

	if (at >= MADE_BYTES)
		return -EIO;
	if (bytes > MADE_BYTES - at)
		bytes = MADE_BYTES - at;
	memcpy(buf, memory->made.memory + at, bytes);
	return (ssize_t)bytes;
}

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes)
{
	struct memory *memory = ctx;

	(void)tgid;
	if (++memory->n_reads > READS_MOST)
		abort();
	return look(memory, addr, buf, bytes);
}

static int read_words(void *ctx, uint32_t tgid, const uint64_t *addr, size_t n, uint64_t *ret)
{
	struct memory *memory = ctx;

	(void)tgid;
	if (++memory->n_reads > READS_MOST || n > WORDS_MOST)
		abort();
	for (size_t i = 0; i < n; i++)
		if (look(memory, addr[i], &ret[i], sizeof(*ret)) != sizeof(*ret))
			ret[i] = 0;
	return 0;
}

static uint64_t now_ns(void *ctx)
{
	return ((struct memory *)ctx)->now_ns;
}

static void change(struct made_python *made, const uint8_t *change)
{
	uint64_t place = MADE_AT + (change[0] | (uint64_t)change[1] << 8) % (MADE_BYTES / 8) * 8;
	uint64_t value = change[3] | (uint64_t)change[4] << 8;

	switch (change[2] % 4) {
	case 0:
		break;
	case 1:
		value += MADE_AT;
		break;
	case 2:
		value <<= 48;
		break;
	case 3:
		value = value << 8 | 3;
		break;
	}
	made_put(made, place, value);
}

static void make(struct made_python *made, const uint8_t *data, size_t size)
{
	made_start(made, 11 + data[0] % 3);
	for (unsigned int i = 0; i < THREADS; i++)
		made_thread(made, i ? "worker" : "MainThread", (data[1] >> i) % 3);
	for (size_t at = HEAD; at + CHANGE <= size; at += CHANGE)
		change(made, data + at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory memory;
	const struct comm_python_reading reading = {read_memory, read_words, now_ns, &memory};
	struct comm_python_threads *threads;
	struct comm_python_process process = {1, MADE_AT, 0};
	char name[COMM_THREAD_NAME_BYTES];

	if (size < HEAD || comm_python_threads_create(&reading, &threads))
		return 0;
	make(&memory.made, data, size);
	process.minor = memory.made.minor;
	for (int turn = 0; turn < TURNS; turn++) {
		memory.n_reads = 0;
		memory.now_ns += UINT64_C(1) << 40;
		for (uint32_t tid = 0; tid < MADE_TID_OF_FIRST + THREADS; tid++) {
			if (comm_python_threads_name(threads, &process, tid, name))
				continue;
			if (!memchr(name, 0, sizeof(name)) || !name[0] ||
			    !comm_text_is_clean(name, strlen(name)))
				abort();
		}
	}
	comm_python_threads_destroy(threads);
	return 0;
}
