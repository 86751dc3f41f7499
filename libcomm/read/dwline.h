/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions of one ELF file, from its DWARF: one walk
 * builds two sorted tables, and the DWARF is freed.
 *
 * Why not dwarf_getscopes(): 2 to 7 ms an address.  The walk is bounded: past a
 * time or size limit the remaining inlined functions, then lines, are left out.
 * The file is hostile; it is read, never mapped.  libdw 0.188 reads past the
 * end of a damaged line table, so a table is built in a process that may die
 * (see parse_child.h), saved there and loaded here.
 */
#ifndef COMM_DWLINE_H
#define COMM_DWLINE_H

#include <stddef.h>
#include <stdint.h>

enum {
	COMM_DWLINE_SAVED_MAX = 184 << 20, /* bytes of the largest saved table */
};

struct comm_line {
	const char *source;  /* as the compiler saw it; NULL when unknown */
	const char *inlined; /* innermost inlined function, maybe mangled, or NULL */
	uint32_t line;	     /* 0 when unknown */
	/* Where the inlined function is called: it may be so several times in one function. */
	const char *call_source; /* NULL when unknown */
	uint32_t call_line;	 /* 0 when unknown */
};

/* What of the debug information is not read. */
enum comm_dwline_unread {
	COMM_DWLINE_SPLIT = 1,	/* in files of its own, .dwo and .dwp */
	COMM_DWLINE_SHARED = 2, /* in a file that several refer to (dwz) */
	COMM_DWLINE_PACKED = 4, /* sections packed in a way that is not known */
	COMM_DWLINE_UNREAD = 7,
};

struct comm_dwline;

/* -ENODATA: no usable DWARF.  For files of others only in a child that may crash (parse_child.h). */
int comm_dwline_build(int fd, unsigned int cpu_ms, struct comm_dwline **ret);
void comm_dwline_destroy(struct comm_dwline *dw);

/* Saves a table to the start of a seekable file, to be loaded in another process. */
int comm_dwline_save(const struct comm_dwline *dw, int to);
/* A hostile ELF file may control the process that saved: checks all; -ENODATA: damaged. */
int comm_dwline_load(int from, struct comm_dwline **ret);

/* The line at a virtual address of the file; -ENOENT when nothing is known of it. */
int comm_dwline_find(const struct comm_dwline *dw, uint64_t vaddr, struct comm_line *ret);

/* enum comm_dwline_unread */
unsigned int comm_dwline_unread(const struct comm_dwline *dw);
size_t comm_dwline_lines(const struct comm_dwline *dw);
size_t comm_dwline_inlines(const struct comm_dwline *dw);
size_t comm_dwline_bytes(const struct comm_dwline *dw);

#endif
