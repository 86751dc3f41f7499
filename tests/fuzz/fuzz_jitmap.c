// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf map that arrives in two pieces, then look-ups all over it.  Input that starts as a
 * saved piece does is also loaded as such, as from a child that the file took over.
 */
#include "jit_piece.h"
#include "memory_file.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct comm_jitmap *map)
{
	uint64_t start, end;

	for (int shift = 0; shift < 64; shift += 3) {
		uint64_t addr = (uint64_t)1 << shift;
		const char *name = comm_jitmap_find(map, addr, &start, &end);

		if (name && (addr < start || addr >= end))
			abort();
		if (name && !comm_text_is_clean(name, strlen(name)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1, saved = -1;
	size_t first = size ? data[0] * size / 256 : 0;
	struct comm_jit_budget budget = {.max_bytes = 64 << 20};
	const uint64_t complete = JIT_COMPLETE;
	struct comm_names *names;
	struct comm_jitmap *map;
	bool more;

	if (comm_names_create(1 << 20, &names) < 0 || comm_jitmap_create(names, &budget, &map) < 0)
		abort();
	for (size_t n = first;; n = size) {
		memory_file(data, n, &file);
		memory_file(data, 0, &saved);
		if (comm_jit_read(file, comm_jitmap_place(map), saved) < 0 ||
		    comm_jitmap_load(map, saved, &more) < 0)
			abort();
		look_up(map);
		if (n == size)
			break;
	}
	if (size > sizeof(complete) && !memcmp(data, &complete, sizeof(complete))) {
		memory_file(data, size, &saved);
		if (comm_jitmap_load(map, saved, &more) == 0)
			look_up(map);
	}
	comm_jitmap_destroy(map);
	comm_names_destroy(names);
	if (budget.bytes)
		abort();
	return 0;
}
