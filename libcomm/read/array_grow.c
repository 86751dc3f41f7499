// SPDX-License-Identifier: GPL-2.0-or-later
#include "array_grow.h"

#include <errno.h>
#include <stdlib.h>

enum { CAPACITY_FIRST = 256 };

int comm_array_grow(void *array, size_t n, size_t *capacity, size_t max, size_t each_bytes)
{
	size_t more = *capacity ? *capacity * 2 : CAPACITY_FIRST;
	void *bigger;

	if (n < *capacity)
		return 0;
	if (n >= max)
		return -ENOSPC;
	bigger = realloc(*(void **)array, more * each_bytes);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*capacity = more;
	return 0;
}
