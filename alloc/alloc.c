// SPDX-License-Identifier: GPL-2.0-or-later
/* malloc() and its kin in front of the allocator's own. */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "draw.h"
#include "next.h"

#define ENTRY ALLOC_ENTRY
#define SLOW ALLOC_SLOW
#define PASSES(size) ALLOC_PASSES(size)
#define SP ALLOC_SP

static ALLOC_THREAD int is_resolving;

/* The allocator. */
struct functions {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
	int (*posix_memalign)(void **ret, size_t align, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	void *(*memalign)(size_t align, size_t size);
};

static struct functions real;

static void *next(const char *name)
{
	void *function = alloc_next(name);

	/* A process without an allocator cannot go on, nor say so. */
	if (!function)
		abort();
	return function;
}

/* False: dlsym() itself allocates, as old ones do for their errors, and goes on without. */
static int resolve(void)
{
	if (is_resolving)
		return 0;
	is_resolving = 1;
	real = (struct functions){
		next("malloc"),		next("calloc"),	       next("realloc"),	 next("free"),
		next("posix_memalign"), next("aligned_alloc"), next("memalign"),
	};
	is_resolving = 0;
	return 1;
}

/* What real consists of until somebody calls: there is nothing to be tested in each call. */
static void *first_malloc(size_t size)
{
	return resolve() ? real.malloc(size) : NULL;
}

static void *first_calloc(size_t n, size_t size)
{
	return resolve() ? real.calloc(n, size) : NULL;
}

static void *first_realloc(void *block, size_t size)
{
	return resolve() ? real.realloc(block, size) : NULL;
}

static void first_free(void *block)
{
	if (block && resolve())
		real.free(block);
}

static int first_posix_memalign(void **ret, size_t align, size_t size)
{
	return resolve() ? real.posix_memalign(ret, align, size) : ENOMEM;
}

static void *first_aligned_alloc(size_t align, size_t size)
{
	return resolve() ? real.aligned_alloc(align, size) : NULL;
}

static void *first_memalign(size_t align, size_t size)
{
	return resolve() ? real.memalign(align, size) : NULL;
}

static struct functions real = {
	first_malloc,	      first_calloc,	   first_realloc,  first_free,
	first_posix_memalign, first_aligned_alloc, first_memalign,
};

static SLOW void *drawn_malloc(size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.malloc(size);

	alloc_draw_take(block, size, sp, rbp);
	return block;
}

ENTRY void *malloc(size_t size)
{
	if (!PASSES(size))
		return drawn_malloc(size, SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.malloc(size);
}

static SLOW void *drawn_calloc(size_t n, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.calloc(n, size);

	alloc_draw_take(block, n * size, sp, rbp);
	return block;
}

ENTRY void *calloc(size_t n, size_t size)
{
	if (!PASSES(n * size))
		return drawn_calloc(n, size, SP, alloc_rbp());
	alloc_draw_left_bytes -= n * size;
	return real.calloc(n, size);
}

/* What was in the table stays there: it is allocated here now. */
static SLOW void *drawn_realloc(void *block, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	int was_there = block && alloc_table_leave((uintptr_t)block);
	void *again = real.realloc(block, size);

	alloc_draw_again(again, size, was_there, sp, rbp);
	return again;
}

ENTRY void *realloc(void *block, size_t size)
{
	if (!PASSES(size) || alloc_table_may_hold((uintptr_t)block))
		return drawn_realloc(block, size, SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.realloc(block, size);
}

static SLOW int drawn_posix_memalign(void **ret, size_t align, size_t size, const uintptr_t *sp,
				     uintptr_t rbp)
{
	int error = real.posix_memalign(ret, align, size);

	alloc_draw_take(error ? NULL : *ret, size, sp, rbp);
	return error;
}

ENTRY int posix_memalign(void **ret, size_t align, size_t size)
{
	if (!PASSES(size))
		return drawn_posix_memalign(ret, align, size, SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.posix_memalign(ret, align, size);
}

static SLOW void *drawn_aligned_alloc(size_t align, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.aligned_alloc(align, size);

	alloc_draw_take(block, size, sp, rbp);
	return block;
}

ENTRY void *aligned_alloc(size_t align, size_t size)
{
	if (!PASSES(size))
		return drawn_aligned_alloc(align, size, SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.aligned_alloc(align, size);
}

static SLOW void *drawn_memalign(size_t align, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.memalign(align, size);

	alloc_draw_take(block, size, sp, rbp);
	return block;
}

ENTRY void *memalign(size_t align, size_t size)
{
	if (!PASSES(size))
		return drawn_memalign(align, size, SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.memalign(align, size);
}

ENTRY void free(void *block)
{
	alloc_draw_leave(block);
	real.free(block);
}

/* C23's; where the C library has them, they do the same. */
ENTRY void free_sized(void *block, size_t size);
ENTRY void free_aligned_sized(void *block, size_t align, size_t size);

void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

void free_aligned_sized(void *block, size_t align, size_t size)
{
	(void)align;
	(void)size;
	free(block);
}
