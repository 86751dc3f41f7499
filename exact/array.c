/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "array.h"

#include <stddef.h>

#include "memory.h"

enum {
	HEAD_BYTES = 64, /* the count, in a line of its own */
};

static size_t bytes_of(const struct comm_array *array)
{
	return HEAD_BYTES + (size_t)array->max * array->item_bytes;
}

void comm_array_init(struct comm_array *array, uint32_t item_bytes, uint32_t max)
{
	*array = (struct comm_array){.item_bytes = item_bytes, .max = max};
	array->n = comm_mem_map_shared(bytes_of(array));
	array->item = (uint8_t *)array->n + HEAD_BYTES;
}

void comm_array_deinit(struct comm_array *array)
{
	comm_mem_unmap(array->n, bytes_of(array));
}

uint32_t comm_array_add(struct comm_array *array, uint32_t n)
{
	uint32_t first = __atomic_fetch_add(array->n, n, __ATOMIC_ACQ_REL);

	if (first > array->max || n > array->max - first)
		comm_mem_out(bytes_of(array));
	return first;
}
