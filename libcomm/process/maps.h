/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of /proc/PID/maps, turned into mappings.  The text is hostile: a
 * process chooses its file names (the kernel escapes only newlines in them).
 */
#ifndef COMM_MAPS_H
#define COMM_MAPS_H

#include "inspect.h"
#include "names.h"

enum {
	/* Mappings of one process; further ones are ignored.  vm.max_map_count is 65,530 where nobody has raised it. */
	COMM_MAPS_MAX = 1 << 17,
	COMM_ZEROED_MAX = 4,
};

struct comm_range {
	uint64_t start, end; /* end is past the last byte */
};

/*
 * With this bit a device is no device, but a System V segment's IPC namespace: its id, which the kernel shows as an
 * inode, is one of that namespace, and the device is that of all memfds.
 */
#define COMM_MAPS_SYSV ((uint64_t)1 << 63)

struct comm_maps;

int comm_maps_create(struct comm_names *names, struct comm_maps **ret);
void comm_maps_destroy(struct comm_maps *maps);

/*
 * Parses text_bytes of text; lines that are not understood or not in order of
 * address are left out.  *ret is the caller's to free().  Ids of files are
 * dense and the same for all processes of one comm_maps.
 */
int comm_maps_parse(struct comm_maps *maps, const char *text, size_t text_bytes,
		    struct comm_mapping **ret, size_t *ret_n);
/* The mappings of a process whose text comes in pieces.  Begins zeroed; map is the caller's to free(). */
struct comm_maps_list {
	struct comm_mapping *map;
	size_t n, capacity;
};
/* Adds those of a piece, which is of whole lines, as comm_maps_parse() does.  -ENOMEM: the list is as it was, or longer. */
int comm_maps_add(struct comm_maps *maps, const char *text, size_t text_bytes,
		  struct comm_maps_list *list);
/* After the last piece. */
void comm_maps_end(struct comm_maps_list *list);
/* The kernel may show one heap as several mappings beside each other: all of them as one. */
struct comm_mapping comm_maps_whole_heap(const struct comm_mapping *map, size_t n,
					 const struct comm_mapping *at);
/*
 * The file that code in no file may be a copied part of (hugify, iodlr): one that the process has mapped right
 * below, or with next right above, other such code between them.  NULL: there is none.
 */
const struct comm_mapping *comm_maps_around(const struct comm_mapping *map, size_t n, uint64_t addr,
					    bool next);
/* Whether a process has System V segments; parsed, they are of namespace 0. */
bool comm_maps_has_sysv(const struct comm_mapping *map, size_t n);
/* Says of which namespace they are. */
void comm_maps_set_ipc(struct comm_maps *maps, struct comm_mapping *map, size_t n, uint64_t ipc);
/* The mapping that addr is in, of those of a process in order of address; NULL: none. */
const struct comm_mapping *comm_maps_at(const struct comm_mapping *map, size_t n, uint64_t addr);
/*
 * Whether a mapping is of a file of the CPython interpreter, by its name, of a version whose objects are known
 * (python_class.c), and whether a process has one.
 */
bool comm_maps_is_python(const struct comm_mapping *m);
/* The minor version of the first that the process has; 0: none. */
unsigned int comm_maps_python_minor(const struct comm_mapping *map, size_t n);
bool comm_maps_has_python(const struct comm_mapping *map, size_t n);
/*
 * Where files have large variables that begin as zero (.bss, anonymous memory behind a file's last mapping, in
 * whose last page it begins): the first COMM_ZEROED_MAX of 2 MiB and more.  Returns how many.
 */
size_t comm_maps_zeroed(const struct comm_mapping *map, size_t n,
			struct comm_range ret[COMM_ZEROED_MAX]);
/* A file name without its directories. */
const char *comm_maps_base(const char *path);
/* A path that the kernel tells, as mappings have it: the same pointer for the same path. */
const char *comm_maps_path(struct comm_maps *maps, const char *path);
/* Names the mappings of a program's file by a link to it; both texts are of comm_maps_path(). */
void comm_maps_name_program(struct comm_mapping *map, size_t n, const char *path, const char *name);
/* What its process calls the file of a mapping; "" when anonymous. */
const char *comm_maps_called(const struct comm_mapping *m);

#endif
