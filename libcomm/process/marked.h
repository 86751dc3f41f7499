/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marked processes: tells of each process whose mappings were read whether it marks regions, and
 * where (marks.h).  Whether a file has marks is looked up once, wherever it is mapped; a module
 * whose constructor has not run yet is asked again for a second.  Also tells of the memory that
 * such a process gives a name of its own, some time after it did.  One thread uses it.
 */
#ifndef COMM_MARKED_H
#define COMM_MARKED_H

#include "inspect.h"

struct comm_marked;

/* Reads memory of a process; returns how many bytes could be read, or -errno. */
typedef ssize_t comm_marked_read_fn(void *ctx, uint32_t tgid, uint64_t addr, void *buf,
				    size_t len_bytes);

/* Until comm_marked_tell() nothing is looked for. */
int comm_marked_create(comm_marked_read_fn *read, void *ctx, struct comm_marked **ret);
void comm_marked_destroy(struct comm_marked *marked);
void comm_marked_tell(struct comm_marked *marked, comm_inspect_marks_fn *fn, void *ctx);
/* The mappings of a process are these, in the order of addresses. */
void comm_marked_look(struct comm_marked *marked, uint32_t tgid, const struct comm_mapping *map,
		      size_t n);
void comm_marked_tell_objects(struct comm_marked *marked, comm_inspect_objects_fn *fn, void *ctx);
/* Asks modules that were not initialised yet, and now and then what has a name. */
void comm_marked_await(struct comm_marked *marked);

#endif
