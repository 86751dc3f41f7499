// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads an allocator's blocks (heap_blocks.h) from hostile memory, which is another after half of the
 * questions: what is told must be in order and in the memory, and nothing else may be read.
 *
 * The first byte says what kind of mapping it is, the second how the rest is split in two.  Of each part, where
 * a library has variables: first what a tree's root among them has for the mapping, then the tree; else it
 * is what the mapping begins with.
 */
#include "heap_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a heap of a thread's arena could begin. */
static const uint64_t base = 0x7f0040000000;
/* Where a library's variables are, and all that they lead to. */
static const struct comm_range zeroed = {0x7e8000000000, 0x7e8000000000 + (2 << 20) + 4096};
static const uint64_t tree = 0x7e0000000000;

enum { ROOT_BYTES = 64, TREE_BYTES = 16 << 20 };

struct memory {
	const uint8_t *data;
	size_t n;
	bool has_tree;
	uint64_t now_ns, n_reads;
};

/* What len_bytes at a place have of the n at data, which are to be at another. */
static void take(uint64_t addr, uint8_t *buf, size_t len_bytes, uint64_t at, const uint8_t *data,
		 size_t n)
{
	uint64_t from = addr > at ? addr : at;
	uint64_t to = addr + len_bytes < at + n ? addr + len_bytes : at + n;

	if (from < to)
		memcpy(buf + (from - addr), data + (from - at), to - from);
}

static ssize_t read_tree(const struct memory *memory, uint64_t addr, void *buf, size_t len_bytes)
{
	size_t n_root = memory->n < ROOT_BYTES ? memory->n : ROOT_BYTES;
	bool is_root = addr >= zeroed.start && addr < zeroed.end;
	uint64_t start = is_root ? zeroed.start : tree;
	uint64_t end = is_root ? zeroed.end : tree + TREE_BYTES;

	if (addr < start || addr >= end)
		return -EIO;
	if (len_bytes > end - addr)
		len_bytes = end - addr;
	memset(buf, 0, len_bytes);
	if (is_root)
		take(addr, buf, len_bytes, zeroed.start + (base >> 30) * 8, memory->data, n_root);
	else
		take(addr, buf, len_bytes, tree, memory->data + n_root, memory->n - n_root);
	return (ssize_t)len_bytes;
}

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	struct memory *memory = ctx;

	(void)tgid;
	/* Nothing goes round in circles. */
	if (++memory->n_reads > 1 << 16)
		abort();
	if (memory->has_tree)
		return read_tree(memory, addr, buf, len_bytes);
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
static void check(const struct comm_blocks_found *blocks, uint64_t least, uint64_t most)
{
	uint64_t end = least;

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
	struct comm_heap_reading reading = {read_memory, now_ns, spent_ns, NULL, &memory, NULL};
	struct comm_mapping m = {
		.start = base, .end = base, .readable = true, .writable = true, .path = ""};
	struct comm_heap_place place = {
		.m = &m, .zeroed = &zeroed, .has_python = size && data[0] & 8};
	struct comm_heap_blocks *heap;
	struct comm_allocation allocation;
	struct comm_blocks_found blocks;
	size_t split;

	if (size < 2)
		return 0;
	m.kind = data[0] & 1 ? COMM_MAP_HEAP : COMM_MAP_ANON;
	memory.has_tree = place.n_zeroed = data[0] & 4 ? 1 : 0;
	split = (size - 2) * data[1] / 255;
	if (comm_heap_blocks_create(&reading, &heap))
		return 0;
	for (int i = 0; i < 64; i++) {
		memory.data = data + 2 + (i < 32 ? 0 : split);
		memory.n = i < 32 && split ? split : size - 2 - (i < 32 ? 0 : split);
		/* The end of a mapping is known late. */
		m.end = base + (data[0] & 6 ? UINT64_C(1) << 30 : memory.n);
		memory.now_ns += 150000000;
		place.addr =
			base + (uint64_t)i * 37 % 64 * (memory.has_tree ? 1024 : memory.n / 64);
		if (m.end <= m.start)
			continue;
		if (!comm_heap_blocks_site(heap, 1, &place, memory.now_ns - 100000000,
					   &allocation) &&
		    (place.addr < allocation.start || allocation.n_words > COMM_ALLOCATION_WORDS ||
		     allocation.until_ns > memory.now_ns ||
		     allocation.since_ns > allocation.until_ns))
			abort();
		if (comm_heap_blocks_at(heap, 1, &place, &blocks))
			continue;
		if (memory.has_tree)
			check(&blocks, 0, UINT64_C(1) << 47);
		else
			check(&blocks, base,
			      data[0] & 2 ? base + (UINT64_C(1) << 30) : base + size);
	}
	comm_heap_blocks_destroy(heap);
	return 0;
}
