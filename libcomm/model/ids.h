/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the dense ids in accesses and edges stand for: threads, functions, sites,
 * regions and objects.  Texts belong to the table that gave out the id (thread.h, site.h,
 * code_region.h, object.h, or results.h of a result file), and live as long as that table.
 */
#ifndef COMM_IDS_H
#define COMM_IDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	COMM_ID_OTHER = 0,
	COMM_SITE_KERNEL = 1,
	COMM_FUNCTION_KERNEL = 1,
	COMM_CODE_REGION_NONE = 0,  /* outside of all marked regions */
	COMM_CODE_REGION_OTHER = 1, /* in one, it is not known which */
	COMM_CODE_REGIONS_MAX = 4096,
	COMM_THREADS_MAX = 65536,
	COMM_SITES_MAX = 1 << 18,
};

enum { COMM_DATUM_SPACE_SHIFT = 48 }; /* bits of a datum from here on are its space id */

struct comm_thread {
	uint32_t tgid, tid;
	uint64_t start_ns, end_ns; /* first seen; 0 while it lives */
	char name[16];
};

struct comm_function {
	const char *name;
	const char *module;
	const char *build_id;
	uint64_t start; /* file virtual address: the same in all runs and hosts; JIT: 0 */
};

struct comm_site {
	uint32_t function;
	const char *inlined; /* NULL when none */
	const char *source;  /* NULL when unknown */
	uint32_t line;
	uint64_t offset; /* file offset of the site's first sampled ip; JIT: address of that ip */
	uint32_t region; /* the marked region that the thread was in */
};

/* A marked region inside another one: each way of nesting is a region of its own. */
struct comm_code_region {
	uint32_t parent; /* the region around it, COMM_CODE_REGION_NONE: there is none */
	const char *name;
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
	uint64_t start;	      /* datum of the object's first byte */
	uint64_t size_bytes;
	uint32_t thread_tid; /* STACK: tid of the owner; else 0 */
	uint32_t tgid;	     /* of the process whose private memory it is; 0: shared, or unknown */
};

#endif
