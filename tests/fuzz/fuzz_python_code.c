// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks for functions of Python programs (python_code.h) in hostile memory: names must be there and printable, and what
 * is read for a question be bounded.
 *
 * The input is the memory of a heap; its last bytes say of which version the interpreter is, and what is asked about.
 */
#include "python_code.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MOST = 1 << 15, TAIL = 3, TURNS = 3, READS_MOST = 32 };

static const uint64_t heap_at = 0x600000;

struct memory {
	const uint8_t *data;
	size_t n;
	unsigned int n_reads;
	uint64_t now_ns;
};

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	struct memory *memory = ctx;
	uint64_t at = addr - heap_at;

	(void)tgid;
	if (++memory->n_reads > READS_MOST)
		abort();
	if (at >= memory->n)
		return -EIO;
	if (len_bytes > memory->n - at)
		len_bytes = memory->n - at;
	memcpy(buf, memory->data + at, len_bytes);
	return (ssize_t)len_bytes;
}

static uint64_t now_ns(void *ctx)
{
	return ((struct memory *)ctx)->now_ns;
}

static void check(const char *name)
{
	if (!name || strlen(name) >= COMM_NAME_BYTES || !comm_text_is_clean(name, strlen(name)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const path[] = {"/python3.11", "/python3.12", "/libpython3.13.so.1.0"};
	struct comm_mapping map[] = {
		{.start = 0x400000, .end = 0x500000, .kind = COMM_MAP_FILE},
		{.start = heap_at, .end = heap_at + SIZE_MOST, .kind = COMM_MAP_HEAP, .path = ""},
	};
	struct memory memory = {.data = data};
	struct comm_heap_reading reading = {.read = read_memory, .now_ns = now_ns, .ctx = &memory};
	struct comm_heap_place place = {.m = &map[1], .map = map, .n_map = 2};
	struct comm_python_codes *codes;
	struct comm_code code;

	if (size < TAIL || size > SIZE_MOST)
		return 0;
	memory.n = size - TAIL;
	map[0].path = path[data[size - 1] % 3];
	place.addr = heap_at + (data[size - 2] << 8 | data[size - 3]) % SIZE_MOST;
	if (comm_names_create(1 << 20, &reading.names))
		return 0;
	if (comm_python_codes_create(&reading, &codes) == 0) {
		for (int turn = 0; turn < TURNS; turn++) {
			memory.n_reads = 0;
			if (!comm_python_codes_at(codes, 1, &place, &code)) {
				check(code.function);
				check(code.module);
				check(code.source);
				if (!code.function[0])
					abort();
			}
			place.addr += 2;
			memory.now_ns += UINT64_C(6) * 1000 * 1000 * 1000;
		}
		comm_python_codes_destroy(codes);
	}
	comm_names_destroy(reading.names);
	return 0;
}
