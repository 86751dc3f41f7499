// SPDX-License-Identifier: GPL-2.0-or-later
#include "program_name.h"

#include <string.h>

static uint64_t stack_end(const struct comm_mapping *map, size_t n)
{
	for (size_t i = n; i > 0; i--)
		if (map[i - 1].kind == COMM_MAP_STACK)
			return map[i - 1].end;
	return 0;
}

/* The first mapping of the file; NULL: there is none. */
static const struct comm_mapping *mapping_of(const struct comm_mapping *map, size_t n,
					     const char *path)
{
	for (size_t i = 0; path && i < n; i++)
		if (map[i].path == path)
			return &map[i];
	return NULL;
}

static bool is_known(const struct comm_program_name *kept, const struct comm_mapping *map, size_t n)
{
	const struct comm_mapping *program = mapping_of(map, n, kept->path);

	return program && program->start == kept->start && stack_end(map, n) == kept->stack;
}

void comm_program_name_give(struct comm_program_name *kept, struct comm_process_reader *reader,
			    uint32_t tgid, struct comm_maps *maps, struct comm_mapping *map,
			    size_t n)
{
	struct comm_program_link link;
	const struct comm_mapping *program;

	if (!is_known(kept, map, n)) {
		*kept = (struct comm_program_name){0};
		if (comm_process_reader_program(reader, tgid, &link))
			return;
		kept->path = comm_maps_path(maps, link.file);
		kept->name = link.name[0] ? comm_maps_path(maps, link.name) : NULL;
		program = mapping_of(map, n, kept->path);
		kept->start = program ? program->start : 0;
		kept->stack = stack_end(map, n);
	}
	if (kept->name)
		comm_maps_name_program(map, n, kept->path, kept->name);
}
