// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for marks (marks.h) in hostile memory: nothing but that memory may be read. */
#include "marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t base = 0x10000;

struct memory {
	const uint8_t *data;
	size_t n;
};

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	const struct memory *memory = ctx;

	if (addr < base || addr - base >= memory->n)
		return -EFAULT;
	if (len_bytes > memory->n - (addr - base))
		len_bytes = memory->n - (addr - base);
	memcpy(buf, memory->data + (addr - base), len_bytes);
	return (ssize_t)len_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = {data, size};
	const struct comm_marks_memory marks = {read_memory, &memory};
	struct comm_marked_objects objects = {0};
	struct comm_marks_place place;
	uint64_t record;

	if (!comm_marks_find(&marks, base, &record) && !comm_marks_read(&marks, record, &place) &&
	    llabs(place.stack) > 1 << 30)
		abort();
	/* As if the process kept its marks where the input begins. */
	comm_marks_objects(&marks, base, &objects);
	for (size_t i = 0; i < COMM_MARKED_OBJECTS_MAX; i++)
		if (objects.object[i].size_bytes >> 48)
			abort();
	return 0;
}
