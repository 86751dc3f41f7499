// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses hostile /proc/PID/maps text, whose mappings must be sorted and their names printable, and asks all about them. */
#include "maps.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_one_of(const struct comm_mapping *m, const struct comm_mapping *map, size_t n)
{
	return m >= map && m < map + n;
}

static void ask_about(const struct comm_mapping *map, size_t n, const struct comm_mapping *m)
{
	const struct comm_mapping *around[] = {comm_maps_around(map, n, m->start, false),
					       comm_maps_around(map, n, m->end - 1, true)};
	struct comm_mapping heap = comm_maps_whole_heap(map, n, m);

	if (comm_maps_at(map, n, m->start) != m || comm_maps_at(map, n, m->end - 1) != m)
		abort();
	if (heap.start > m->start || heap.end < m->end)
		abort();
	for (int i = 0; i < 2; i++)
		if (around[i] && !is_one_of(around[i], map, n))
			abort();
	if (comm_maps_is_python(m) && !comm_maps_has_python(map, n))
		abort();
	if (!strstr(m->path, comm_maps_base(m->path)))
		abort();
}

static void ask(struct comm_maps *maps, struct comm_mapping *map, size_t n)
{
	struct comm_range zeroed[COMM_ZEROED_MAX];
	size_t n_zeroed = comm_maps_zeroed(map, n, zeroed);
	const char *name = comm_maps_path(maps, "/a/link");

	for (size_t i = 0; i < n_zeroed; i++)
		if (zeroed[i].start >= zeroed[i].end)
			abort();
	for (size_t i = 0; i < n; i++)
		ask_about(map, n, &map[i]);
	if (comm_maps_has_sysv(map, n))
		comm_maps_set_ipc(maps, map, n, 7);
	if (!n)
		return;
	comm_maps_name_program(map, n, map[0].path, name);
	if (map[0].kind == COMM_MAP_FILE && strcmp(comm_maps_called(&map[0]), name) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_mapping *m;
	size_t n;

	if (comm_names_create(1 << 20, &names) < 0 || comm_maps_create(names, &maps) < 0)
		abort();
	if (comm_maps_parse(maps, (const char *)data, size, &m, &n) == 0) {
		for (size_t i = 0; i < n; i++) {
			if (m[i].start >= m[i].end || (i && m[i].start < m[i - 1].end))
				abort();
			if (!comm_text_is_clean(m[i].path, strlen(m[i].path)))
				abort();
		}
		ask(maps, m, n);
		free(m);
	}
	comm_maps_destroy(maps);
	comm_names_destroy(names);
	return 0;
}
