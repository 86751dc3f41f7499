// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads an allocator's blocks (heap_blocks.h) from hostile memory, which is another after half of the
 * questions: what is told must be in order and in the memory, and nothing else may be read.
 *
 * The first byte says what kind of mapping it is, the second how the rest is split in two.
 */
#include "heap_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a heap of a thread's arena could begin. */
static const uint64_t base = 0x7f0040000000;

struct memory {
	const uint8_t *data;
	size_t n;
	uint64_t now_ns, n_reads;
};

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	struct memory *memory = ctx;

	(void)tgid;
	/* Nothing goes round in circles. */
	if (++memory->n_reads > 1 << 16)
		abort();
	if (addr < base || addr - base >= memory->n)
		return -EIO;
	if (len_bytes > memory->n - (addr - base))
		len_bytes = memory->n - (addr - base);
	memcpy(buf, memory->data + (addr - base), len_bytes);
	return (ssize_t)len_bytes;
}

static uint64_t now_ns(void *ctx)
{
	return ((const struct memory *)ctx)->now_ns;
}

static uint64_t spent_ns(void *ctx)
{
	(void)ctx;
	return 0;
}

/* No mapping ever ended behind most. */
static void check(const struct comm_blocks_found *blocks, uint64_t most)
{
	uint64_t end = base;

	for (size_t i = 0; i < blocks->n; i++) {
		const struct comm_block *b = &blocks->block[i];

		if (b->start < end || b->least_bytes > b->size_bytes || b->start > most ||
		    b->size_bytes > most + 8 - b->start)
			abort();
		end = b->start + b->size_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = {.now_ns = 1000000000};
	const struct comm_heap_reading reading = {read_memory, now_ns, spent_ns, &memory};
	struct comm_mapping m = {
		.start = base, .end = base, .readable = true, .writable = true, .path = ""};
	struct comm_heap_blocks *heap;
	struct comm_blocks_found blocks;
	size_t split;

	if (size < 2)
		return 0;
	m.kind = data[0] & 1 ? COMM_MAP_HEAP : COMM_MAP_ANON;
	split = (size - 2) * data[1] / 255;
	if (comm_heap_blocks_create(&reading, &heap))
		return 0;
	for (int i = 0; i < 64; i++) {
		memory.data = data + 2 + (i < 32 ? 0 : split);
		memory.n = i < 32 && split ? split : size - 2 - (i < 32 ? 0 : split);
		/* The end of a mapping is known late. */
		m.end = base + (data[0] & 2 ? UINT64_C(1) << 30 : memory.n);
		memory.now_ns += 150000000;
		if (m.end > m.start &&
		    !comm_heap_blocks_at(heap, 1, &m, base + (uint64_t)i * 37 % 64 * memory.n / 64,
					 &blocks))
			check(&blocks, data[0] & 2 ? base + (UINT64_C(1) << 30) : base + size);
	}
	comm_heap_blocks_destroy(heap);
	return 0;
}
