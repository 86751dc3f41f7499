// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the classes of heap blocks (block_class.h) in hostile memory: names must be there and printable, and
 * few words be followed, however they lead around.
 *
 * The input is what a mapped file has in memory; its first PIECE bytes are also what is in the heap, cut into
 * blocks of as many words as its last byte says, which also says whether the process is Python.
 */
#include "block_class.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PIECE = 2048,
	READS_MOST = 8 * 64, /* of one piece */
	FILE_BYTES = 1 << 16,
};

static const uint64_t file_at = 0x10000, heap_at = 0x600000;

struct memory {
	const uint8_t *data;
	size_t n;
	unsigned int n_reads;
};

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	struct memory *memory = ctx;
	uint64_t at = addr - (addr >= heap_at ? heap_at : file_at);

	if (++memory->n_reads > READS_MOST)
		abort();
	if (addr < file_at || at >= memory->n || (addr >= heap_at && at >= PIECE))
		return -EIO;
	if (len_bytes > memory->n - at)
		len_bytes = memory->n - at;
	memcpy(buf, memory->data + at, len_bytes);
	return (ssize_t)len_bytes;
}

/* Of one byte in eight a table's symbol begins where it is asked for. */
static int variable(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		    struct comm_static *ret)
{
	(void)ctx;
	(void)tgid;
	if (addr < m->start || addr >= m->end)
		abort();
	*ret = (struct comm_static){.name = addr % 32 ? "table" : "vtable for Foo", .start = addr};
	return addr % 64 ? 0 : -EAGAIN;
}

static void check(const struct comm_block_classes *classes, const struct comm_block_class *class)
{
	const char *name = comm_block_classes_name(classes, class->id);

	if (!name || !name[0] || strlen(name) >= COMM_NAME_BYTES)
		abort();
	if (!comm_text_is_clean(name, strlen(name)))
		abort();
	if (class->object >= COMM_CLASS_WORDS * sizeof(uint64_t))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct comm_block_class class[COMM_PIECE_BLOCKS];
	static struct comm_block_list list;
	const struct comm_mapping map[] = {
		{.start = file_at,
		 .end = file_at + FILE_BYTES,
		 .kind = COMM_MAP_FILE,
		 .path = "/python3.11"},
		{.start = heap_at, .end = heap_at + PIECE, .kind = COMM_MAP_HEAP, .path = "[heap]"},
	};
	struct memory memory = {.data = data, .n = size};
	const struct comm_marks_memory reads = {read_memory, &memory};
	struct comm_heap_reading reading = {.variable = variable};
	struct comm_heap_place place = {.m = &map[1], .map = map, .n_map = 2};
	const struct comm_class_question question = {&reads, &reading, &place, 1};
	struct comm_block_classes *classes;
	uint64_t bytes;

	if (!size || size > FILE_BYTES)
		return 0;
	place.has_python = data[size - 1] & 32;
	bytes = 8 * (1 + data[size - 1] % 32);
	list.n = 0;
	for (uint64_t at = 0; at + bytes <= PIECE; at += bytes)
		list.block[list.n++] =
			(struct comm_block){.start = heap_at + at, .size_bytes = bytes};
	if (comm_names_create(1 << 20, &reading.names))
		return 0;
	if (comm_block_classes_create(&classes) == 0) {
		for (uint64_t turn = 1; turn <= 2; turn++) {
			memory.n_reads = 0;
			if (comm_block_classes_read(classes, &question, turn * 1000000000, &list,
						    class) > 0)
				for (size_t i = 0; i < list.n; i++)
					if (class[i].id)
						check(classes, &class[i]);
		}
		comm_block_classes_destroy(classes);
	}
	comm_names_destroy(reading.names);
	return 0;
}
