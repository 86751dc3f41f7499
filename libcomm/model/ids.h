/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the dense ids in accesses and edges stand for: threads, functions, sites
 * and objects.  Texts belong to whoever gave out the id, and last as long as it.
 */
#ifndef COMM_IDS_H
#define COMM_IDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	COMM_ID_OTHER = 0,
	COMM_SITE_KERNEL = 1,
	COMM_FUNCTION_KERNEL = 1,
	COMM_THREADS_MAX = 65536,
	COMM_SITES_MAX = 1 << 18,
};

enum { COMM_DATUM_SPACE_SHIFT = 48 }; /* a datum's space id is above */

struct comm_thread {
	uint32_t tgid, tid;
	uint64_t start_ns, end_ns; /* first seen; 0 while it lives */
	char name[16];
};

struct comm_function {
	const char *name;
	const char *module;
	const char *build_id;
	uint64_t start; /* file virtual address; keys runs and hosts; JIT: 0 */
};

struct comm_site {
	uint32_t function;
	const char *inlined; /* NULL when none */
	const char *source;  /* NULL when unknown */
	uint32_t line;
	uint64_t offset; /* of its first seen ip into the file; JIT: its address */
};

/* Stores hold these numbers. */
enum comm_object_kind {
	COMM_OBJECT_OTHER,
	COMM_OBJECT_STATIC, /* a variable of an ELF file */
	COMM_OBJECT_DATA,   /* a module's data without a symbol */
	COMM_OBJECT_HEAP,
	COMM_OBJECT_STACK,
	COMM_OBJECT_ANON,
	COMM_OBJECT_SHARED, /* shared memory, a mapped file */
};

struct comm_object {
	enum comm_object_kind kind;
	const char *name;     /* never NULL */
	const char *module;   /* "" when none */
	const char *build_id; /* "" when none */
	uint64_t start;	      /* datum of its first byte */
	uint64_t size_bytes;
	uint32_t thread_tid; /* STACK: whose; else 0 */
};

#endif
