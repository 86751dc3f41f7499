/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks are entered in the table (table.h).  Of all bytes that a thread allocates some are drawn, and a block
 * with one of them is entered; all others pay for a subtraction, and what is freed for a look at one byte.
 * No lock, no allocation, no call of anything that may allocate: a thread may be interrupted or forked
 * wherever it is.
 *
 * A function that allocates asks ALLOC_PASSES(); if so it subtracts the size from what is left, else it hands
 * the block to alloc_draw_take(), with ALLOC_SP and alloc_rbp() of its own.
 */
#ifndef ALLOC_DRAW_H
#define ALLOC_DRAW_H

#include "table.h"

#define ALLOC_ENTRY __attribute__((visibility("default")))
#define ALLOC_SLOW __attribute__((noinline, cold))
/* The way to another thread's variable might allocate it. */
#define ALLOC_THREAD __thread __attribute__((tls_model("initial-exec")))

extern ALLOC_THREAD uint64_t alloc_draw_left_bytes; /* until the next byte that is drawn */

#define ALLOC_PASSES(size) __builtin_expect((size) < alloc_draw_left_bytes, 1)
#define ALLOC_SP ((const uintptr_t *)__builtin_dwarf_cfa())

static inline __attribute__((always_inline)) uintptr_t alloc_rbp(void)
{
	uintptr_t rbp;

	__asm__ volatile("mov %%rbp, %0" : "=r"(rbp));
	return rbp;
}

/* A block was allocated that a drawn byte is in, or that is the first one of its thread.  NULL: it was not. */
void alloc_draw_take(const void *block, size_t size, const uintptr_t *sp, uintptr_t rbp);
/* As that, of a block that was another or of another size before, which the table had or not. */
void alloc_draw_again(const void *block, size_t size, int was_there, const uintptr_t *sp,
		      uintptr_t rbp);
/* To be called before a block is freed. */
static inline __attribute__((always_inline)) void alloc_draw_leave(const void *block)
{
	if (__builtin_expect(alloc_table_may_hold((uintptr_t)block), 0) && block)
		alloc_table_leave((uintptr_t)block);
}

#endif
