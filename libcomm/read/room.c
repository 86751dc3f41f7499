// SPDX-License-Identifier: GPL-2.0-or-later
#include "room.h"

#include <errno.h>
#include <stdlib.h>

enum { ROOM_FIRST = 256 };

int comm_room_for_one(void *array, size_t n, size_t *room, size_t max, size_t each_bytes)
{
	size_t more = *room ? *room * 2 : ROOM_FIRST;
	void *bigger;

	if (n < *room)
		return 0;
	if (n >= max)
		return -ENOSPC;
	bigger = realloc(*(void **)array, more * each_bytes);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*room = more;
	return 0;
}
