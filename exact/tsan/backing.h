/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells of memory that may be mapped at several places: twice by one process, or by processes that came from
 * one fork() or another.  They stand on memory of their own, and the shadow of each place shows them, so an
 * access finds them as it finds any others.
 *
 * A file's cells, and those of a segment of System V, are found by what it is and by the page in it, and outlive
 * its mappings as its data does.  Memory without a name has new ones for each mapping.  Which cells each page
 * shows is known to the process, and to children of fork().
 */
#ifndef COMM_EXACT_BACKING_H
#define COMM_EXACT_BACKING_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum comm_backing_kind { COMM_BACKING_FILE = 1, COMM_BACKING_SEGMENT };

/* What no two have in common at a time; birth: of one that has the number of another that is gone. */
struct comm_backing_file {
	uint64_t kind, device, number, birth;
};

/* Whether pages show a file until they are written, and what is written is the process's own. */
enum comm_backing_use { COMM_BACKING_SHARED, COMM_BACKING_PRIVATE };

/* After comm_shadow_init(); 0 or -errno. */
int comm_backing_init(void);

/* Addresses and offsets are of pages, lengths are rounded up to them. */
void comm_backing_map(uint64_t addr, size_t len_bytes, const struct comm_backing_file *file,
		      uint64_t offset, enum comm_backing_use use);
void comm_backing_map_new(uint64_t addr, size_t len_bytes);
/* Cells of its own that are as the file's are now. */
void comm_backing_copy(uint64_t addr, size_t len_bytes, const struct comm_backing_file *file,
		       uint64_t offset);
/* The same cells as `from` shows, there too; beyond from_bytes what comes next in the file. */
void comm_backing_repeat(uint64_t from, size_t from_bytes, uint64_t to, size_t to_bytes);
/* Private pages may be written from now on. */
void comm_backing_part(uint64_t addr, size_t len_bytes);
/* The data is gone: from all places where it is mapped (is_hole), or from pages that are not shared. */
void comm_backing_discard(uint64_t addr, size_t len_bytes, int is_hole);
/* The mapping is gone. */
void comm_backing_unmap(uint64_t addr, size_t len_bytes);

/* Whether what the page holds is elsewhere as well. */
int comm_backing_is_shared(uint64_t addr);
/* How long the mapping of a file is that begins there. */
size_t comm_backing_length(uint64_t addr);

#pragma GCC visibility pop

#endif
