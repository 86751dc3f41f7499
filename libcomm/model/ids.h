/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the dense ids in accesses and edges stand for: threads, functions, sites, regions, calls
 * (call.h) and objects.  Texts belong to the table that gave out the id (thread.h, site.h,
 * code_region.h, object.h, or results.h of a result file), and live as long as that table.
 */
#ifndef COMM_IDS_H
#define COMM_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "title.h"

enum {
	COMM_ID_OTHER = 0,
	COMM_SITE_KERNEL = 1,
	COMM_SITE_FIRST_WRITE = 2, /* what touched a page first (touch.h): mostly the allocator */
	COMM_SITE_STARTUP = 3,	   /* the loader, and what sets a new thread up: pthread_create() */
	COMM_SITE_NOT_TOLD = 4,	   /* a thread is known to have written, but not by which code */
	COMM_FUNCTION_KERNEL = 1,
	COMM_CODE_REGION_NONE = 0,  /* outside of all marked regions */
	COMM_CODE_REGION_OTHER = 1, /* in one, it is not known which */
	COMM_CODE_REGIONS_MAX = 4096,
	COMM_CALL_UNKNOWN = 0,	 /* nobody knows who called */
	COMM_CALL_OUTERMOST = 1, /* nobody called: where a thread begins */
	COMM_CALLS_MAX = 1 << 16,
	COMM_CALL_DEPTH_MAX = 16,
	COMM_TYPE_UNKNOWN = 1,	  /* of a store's table of types */
	COMM_THREADS_MAX = 65536, /* places in the table of threads */
	COMM_THREAD_ROUNDS_MAX = 256,
	COMM_SITES_MAX = 1 << 18,
};

/* 15 bytes that the kernel keeps, each as "\\xNN" at most, and a NUL; or what a program calls a thread, cut to that. */
enum { COMM_THREAD_NAME_BYTES = 64 };

enum { COMM_DATUM_SPACE_SHIFT = 48 }; /* bits of a datum from here on are its space id */

struct comm_thread {
	uint32_t tgid, tid;
	uint64_t start_ns, end_ns;	   /* first seen; 0 while it lives */
	uint64_t round;			   /* how many threads had its place before it */
	char name[COMM_THREAD_NAME_BYTES]; /* clean (text.h) */
	char title[COMM_TITLE_BYTES]; /* of its process, if the thread has no name of its own */
};

/* An id is one thread's alone in a run: it names the place in the table, and the round there. */
static inline uint32_t comm_thread_place(uint32_t id)
{
	return id % COMM_THREADS_MAX;
}

static inline uint32_t comm_thread_round(uint32_t id)
{
	return id / COMM_THREADS_MAX;
}

static inline uint32_t comm_thread_id(uint32_t place, uint64_t round)
{
	return (uint32_t)round * COMM_THREADS_MAX + place;
}

struct comm_function {
	const char *name;
	const char *module;
	const char *build_id;
	uint64_t start;	 /* file virtual address: the same in all runs and hosts; JIT: 0 */
	bool pending;	 /* its name may still come (comm_sites_settle()) */
	bool keeps_heap; /* an allocator's, by its name (allocation.h) */
};

struct comm_site {
	uint32_t function;
	const char *inlined; /* NULL when none */
	const char *source;  /* NULL when unknown */
	uint32_t line;
	const char *call_source; /* where the inlined function is called; NULL when unknown */
	uint32_t call_line;
	uint64_t offset; /* file offset of the site's first sampled ip; JIT: address of that ip */
	uint32_t region; /* the marked region that the thread was in */
	uint32_t caller; /* the call that this function was called in; COMM_CALL_UNKNOWN */
	/* What is read there: its type, and the field in it; NULL when unknown. */
	const char *type, *field;
	uint32_t field_offset;
	uint32_t pending; /* more may still become known (comm_sites_settle()); 0: nothing */
};

/* A marked region inside another one: each way of nesting is a region of its own. */
struct comm_code_region {
	const char *name;
	uint32_t parent; /* the region around it, COMM_CODE_REGION_NONE: there is none */
};

/* A function that is under way, and the call that it was called in. */
struct comm_call {
	uint32_t parent;
	uint32_t function;
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
	COMM_OBJECT_MARKED, /* memory that the program gave a name (COMM_OBJECT()) */
	COMM_OBJECT_BLOCK,  /* all blocks of one size in a process's heap */
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
