// SPDX-License-Identifier: GPL-2.0-or-later
/* A perf map that arrives in two pieces, then look-ups all over it. */
#include "jitmap.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t first = size ? data[0] * size / 256 : 0;
	struct comm_names *names;
	struct comm_jitmap *map;
	uint64_t start, end;

	if (comm_names_create(1 << 20, &names) < 0 || comm_jitmap_create(names, &map) < 0)
		abort();
	comm_jitmap_text(map, (const char *)data, first);
	comm_jitmap_find(map, 0x1000, &start, &end);
	comm_jitmap_text(map, (const char *)data + first, size - first);
	for (int shift = 0; shift < 64; shift += 3) {
		uint64_t addr = (uint64_t)1 << shift;

		if (comm_jitmap_find(map, addr, &start, &end) && (addr < start || addr >= end))
			abort();
	}
	comm_jitmap_destroy(map);
	comm_names_destroy(names);
	return 0;
}
