/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which object each eight bytes of the program's memory belong to: a variable, what was allocated
 * or mapped at one place in the code, a thread's stack, a file.  An array as long as the address space,
 * backed by pages only where it is touched, says it of what was accessed; another, by page, of
 * what is large, until it is.
 *
 * Objects are known here by kind and address alone: commd, which reads the result, finds their names.
 * Their table stands on memory that children of fork() share.  Object 0: not known yet.
 */
#ifndef COMM_EXACT_TSAN_OBJECT_H
#define COMM_EXACT_TSAN_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "shadow.h"

#pragma GCC visibility push(hidden)

/* As in libcomm/model/ids.h, which is not included here. */
enum comm_exact_object_kind {
	COMM_EXACT_OBJECT_OTHER,
	COMM_EXACT_OBJECT_STATIC,
	COMM_EXACT_OBJECT_DATA,
	COMM_EXACT_OBJECT_HEAP,
	COMM_EXACT_OBJECT_STACK,
	COMM_EXACT_OBJECT_ANON,
	COMM_EXACT_OBJECT_SHARED,
	COMM_EXACT_OBJECT_MARKED,
};

enum {
	COMM_EXACT_OBJECTS = 1 << 16,
	COMM_EXACT_OBJECT_UNKNOWN = 1, /* none of those, or there was no room for it */
	COMM_EXACT_OBJECT_FIRST,
};

struct comm_exact_object {
	uint64_t key; /* 0: free */
	uint64_t size_bytes, blocks;
	const char *name; /* of a file's, and one that the program gave; else NULL */
};

/* Below the cells, for as many granules of eight bytes as the shadow knows: 1 TiB of addresses. */
#define COMM_OBJECTS (COMM_SHADOW_CELLS / 4)

/* After comm_shadow_init(). */
void comm_objects_init(void);

/* pc: behind the call. */
void comm_object_allocated(uint64_t addr, size_t len_bytes, uint64_t pc);
/* fd: -1: of no file. */
void comm_object_mapped(uint64_t addr, size_t len_bytes, uint64_t pc, int fd);
/* A segment of System V. */
void comm_object_segment(uint64_t addr, size_t len_bytes, int id);
void comm_object_unmapped(uint64_t addr, size_t len_bytes);
/* Whole pages: what was at `from` is at `to`, too. */
void comm_object_moved(uint64_t from, uint64_t to, size_t len_bytes);
/* The calling thread's stack is its own from now on. */
void comm_object_stack(uint32_t slot);

/* NULL: no such object. */
const struct comm_exact_object *comm_exact_object(uint32_t id);
enum comm_exact_object_kind comm_exact_object_kind(const struct comm_exact_object *object);
/* Where it starts; of what was allocated or mapped: behind the call that did; of a stack: the thread's slot. */
uint64_t comm_exact_object_start(const struct comm_exact_object *object);

static inline uint16_t *comm_object_at(uint64_t addr)
{
	return (uint16_t *)COMM_OBJECTS + (comm_shadow_bits(addr) >> 3);
}

/* The same, found out now. */
uint32_t comm_object_find(uint64_t addr);

static inline uint32_t comm_object_of(uint64_t addr)
{
	uint32_t object = *comm_object_at(addr);

	return object ? object : comm_object_find(addr);
}

#pragma GCC visibility pop

#endif
