// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a table of allocations (sampled_blocks.h) from hostile memory, which is the input again and again, but for
 * what leads to it: what is told must be where and when it was asked for, and there is an end of reading.
 *
 * The first byte says how much of the table's head and of its origins is as it should be; the rest are blocks and origins.
 */
#include "sampled_blocks.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sampled.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t base = 0x10000;

struct memory {
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment[2];
		struct {
			Elf64_Nhdr head;
			char owner[12];
			uint64_t distance;
		} note;
		uint32_t version, n_blocks;
		uint64_t changes;
	} file;
	const uint8_t *data;
	size_t n;
	uint64_t now_ns, n_reads;
	bool matches;
};

/* An origin that is of its block. */
static void match(struct memory *memory, uint64_t in, struct comm_alloc_origin *origin)
{
	uint64_t place =
		(in - sizeof(struct comm_alloc_block) * COMM_ALLOC_BLOCKS) / sizeof(*origin);
	uint64_t block[3];

	for (size_t i = 0; i < sizeof(block); i++)
		((uint8_t *)block)[i] =
			memory->data[(place * sizeof(struct comm_alloc_block) + i) % memory->n];
	origin->start = block[0];
	origin->size_bytes = block[1];
	origin->since_ns = block[2];
	origin->n_words %= COMM_ALLOC_WORDS + 2;
}

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	struct memory *memory = ctx;
	size_t have = 0;

	(void)tgid;
	if (++memory->n_reads > 1 << 10)
		abort();
	if (addr < base)
		return -EIO;
	while (have < len_bytes) {
		uint64_t at = addr - base + have, in = at - sizeof(memory->file);
		const uint8_t *from = (const uint8_t *)&memory->file + at;
		size_t n = sizeof(memory->file) - at;

		if (at >= sizeof(memory->file)) {
			from = memory->data + in % memory->n;
			n = memory->n - in % memory->n;
		}
		n = n < len_bytes - have ? n : len_bytes - have;
		memcpy((char *)buf + have, from, n);
		have += n;
	}
	if (memory->matches && len_bytes == sizeof(struct comm_alloc_origin))
		match(memory, addr - base - sizeof(memory->file), buf);
	return (ssize_t)len_bytes;
}

static uint64_t now_ns(void *ctx)
{
	return ((const struct memory *)ctx)->now_ns;
}

static void make_file(struct memory *memory, uint8_t how)
{
	memcpy(memory->file.head.e_ident, ELFMAG, SELFMAG);
	memory->file.head.e_ident[EI_CLASS] = ELFCLASS64;
	memory->file.head.e_phentsize = sizeof(*memory->file.segment);
	memory->file.head.e_phoff = offsetof(struct memory, file.segment);
	memory->file.head.e_phnum = 2;
	memory->file.segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(memory->file)};
	memory->file.segment[1] = (Elf64_Phdr){.p_type = PT_NOTE,
					       .p_vaddr = offsetof(struct memory, file.note),
					       .p_filesz = sizeof(memory->file.note),
					       .p_align = 4};
	memory->file.note.head = (Elf64_Nhdr){9, 8, COMM_ALLOC_NOTE};
	memcpy(memory->file.note.owner, "commprof", sizeof("commprof"));
	memory->file.note.distance =
		offsetof(struct memory, file.version) - offsetof(struct memory, file.note.distance);
	memory->file.version = how & 1 ? how >> 4 : COMM_ALLOC_VERSION;
	memory->file.n_blocks = how & 2 ? how : COMM_ALLOC_BLOCKS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = {.now_ns = 1000000000};
	const struct comm_sampled_reading reading = {read_memory, now_ns, &memory};
	const struct comm_mapping m = {.start = base,
				       .end = base + 4096,
				       .kind = COMM_MAP_FILE,
				       .readable = true,
				       .path = "/libcomm-alloc.so"};
	struct comm_sampled_blocks *blocks;
	struct comm_allocation a;

	if (size < 1 + sizeof(uint64_t))
		return 0;
	memory.data = data + 1;
	memory.n = size - 1;
	memory.matches = !(data[0] & 4);
	make_file(&memory, data[0]);
	if (comm_sampled_blocks_create(&reading, &blocks))
		return 0;
	comm_sampled_blocks_look(blocks, 1, &m, 1);
	for (size_t i = 0; i < 16; i++) {
		uint64_t addr, time_ns = memory.now_ns;

		memcpy(&addr, memory.data + i * 8 % (memory.n - 7), sizeof(addr));
		addr += data[0] >> 3;
		if (!comm_sampled_blocks_at(blocks, 1, addr, time_ns, i % 8 != 1, &a) &&
		    (addr < a.start || addr - a.start >= a.size_bytes || a.since_ns > time_ns ||
		     a.until_ns < time_ns || a.n_words > COMM_ALLOCATION_WORDS))
			abort();
		if (i % 8 != 7)
			continue;
		/* Another table. */
		memory.now_ns += 50 * 1000 * 1000;
		memory.file.changes++;
		if (memory.n > 64)
			memory.data++, memory.n--;
	}
	comm_sampled_blocks_destroy(blocks);
	return 0;
}
