/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of a Go program by the table that its runtime has for stack traces (section .gopclntab, in
 * debug/gosym's words pclntab): it stays when a program is stripped.  Layouts of Go 1.2 to 1.15, 1.16 to 1.17
 * and 1.18 to 1.25, of 64-bit little-endian programs; of none else, and of position-independent ones whose
 * linker left the beginning of the code to relocations, nothing is told.  The table is hostile.
 */
#ifndef COMM_GOPCLNTAB_H
#define COMM_GOPCLNTAB_H

#include <stddef.h>
#include <stdint.h>

enum { COMM_GOPCLNTAB_NAME_BYTES = 4096 }; /* longer names, with their NUL, are left out */

struct comm_gopclntab_function {
	uint64_t start, end; /* start < end */
	const char *name;    /* in the table */
};

/* Calls found() for each function until it returns not 0, or one is damaged.  -ENOEXEC: no such table. */
int comm_gopclntab_walk(const void *table, size_t n_bytes,
			int (*found)(void *ctx, const struct comm_gopclntab_function *function),
			void *ctx);

#endif
