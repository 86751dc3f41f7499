/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of memory that may be mapped at several places: twice by one process, or by processes that came
 * from one fork() or another.  A shadow has a cell for each granule; those of such memory stand in a backing,
 * and the shadow of each place shows them, so an access finds them as it finds any others.  Of nothing, mremap()
 * maps the same pages once more (mremap(2)).
 *
 * A file's cells, and those of a segment of System V, are found by what it is and by the page in it, and outlive
 * its mappings as its data does.  Memory without a name has new ones for each mapping.  Which cells each page
 * shows is known to the process, and to children of fork().
 *
 * Both runtimes have one, with a shadow of their own: what it can do is in struct comm_backing_shadow.
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

/* Pages are of the program's memory, and count from 0 in the backing. */
struct comm_backing_shadow {
	uint32_t backing_pages;
	/* Those of so many pages are what stands at such a page of the backing, or a copy of that. */
	void (*show)(uint64_t addr, size_t pages, uint32_t backing);
	void (*copy)(uint64_t addr, size_t pages, uint32_t backing);
	/* Nobody has written there.  Pages that showed the backing do so no more. */
	void (*clear)(uint64_t addr, size_t len_bytes);
	void (*empty)(uint32_t backing);
	/* There is no room in the backing. */
	void (*share)(uint64_t addr, size_t len_bytes);
	/* Zero at first: what the page shows, of which only this file knows more. */
	uint32_t *(*shown)(uint64_t addr);
	/* Zero, and shared with children of fork(); NULL: there is no room. */
	void *(*map_shared)(size_t bytes);
	/* Lets others go on; 0: long enough. */
	int (*give_way)(unsigned int turn);
};

/* 0 or -errno. */
int comm_backing_init(const struct comm_backing_shadow *shadow);

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
