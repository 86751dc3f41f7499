/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays that all processes which came from one program by fork() have in common, at one address: whoever
 * writes the result sees what each of them has added.  They grow at the end alone, up to what they were made for;
 * an item is zero at first, and whoever added it fills it in.
 */
#ifndef COMM_EXACT_ARRAY_H
#define COMM_EXACT_ARRAY_H

#include <stdint.h>

struct comm_array {
	uint32_t *n; /* on the common memory, too */
	uint8_t *item;
	uint32_t item_bytes, max;
};

/* Memory is out where there is no capacity: see memory.h. */
void comm_array_init(struct comm_array *array, uint32_t item_bytes, uint32_t max);
void comm_array_deinit(struct comm_array *array);
/* The first of n new ones that follow each other. */
uint32_t comm_array_add(struct comm_array *array, uint32_t n);

static inline uint32_t comm_array_count(const struct comm_array *array)
{
	return __atomic_load_n(array->n, __ATOMIC_ACQUIRE);
}

static inline void *comm_array_at(const struct comm_array *array, uint32_t i)
{
	return array->item + (uint64_t)i * array->item_bytes;
}

#endif
