// SPDX-License-Identifier: GPL-2.0-or-later
#include "zeroed_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_FIRST = 256 };

int comm_zeroed_array_reach(void *array, size_t *n, size_t index, size_t each_bytes)
{
	size_t want = *n ? *n : ELEMENTS_FIRST;
	char *grown;

	if (index < *n)
		return 0;
	while (want <= index)
		want *= 2;
	grown = reallocarray(*(void **)array, want, each_bytes);
	if (!grown)
		return -ENOMEM;
	memset(grown + *n * each_bytes, 0, (want - *n) * each_bytes);
	*(void **)array = grown;
	*n = want;
	return 0;
}
