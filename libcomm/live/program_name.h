/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process's program is called: by the link that it was started by (program_link.h).  It is asked for once
 * per program, not each time that mappings are read.
 */
#ifndef COMM_PROGRAM_NAME_H
#define COMM_PROGRAM_NAME_H

#include "maps.h"
#include "process_reader.h"

/* Of a process, zeroed at first. */
struct comm_program_name {
	uint64_t start,
		stack; /* where the program and its stack were then; after an exec they are elsewhere */
	const char *path, *name; /* of the maps' names; name NULL: the file's own */
};

/* Names the program's mappings among those of a process. */
void comm_program_name_give(struct comm_program_name *kept, struct comm_process_reader *reader,
			    uint32_t tgid, struct comm_maps *maps, struct comm_mapping *map,
			    size_t n);

#endif
