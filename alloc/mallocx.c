// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jemalloc's own functions, which know a block's size or alignment (jemalloc(3)).  Programs look whether the process has
 * them, and with this library it has: where there is no jemalloc they do the same by malloc().
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "next.h"

enum { LG_ALIGN_MASK = 0x3f, ZERO = 0x40, ALIGN_LEAST = 16 };

ALLOC_ENTRY void *mallocx(size_t size, int flags);
ALLOC_ENTRY void *rallocx(void *block, size_t size, int flags);
ALLOC_ENTRY size_t xallocx(void *block, size_t size, size_t extra, int flags);
ALLOC_ENTRY void dallocx(void *block, int flags);
ALLOC_ENTRY void sdallocx(void *block, size_t size, int flags);

static void *instead_mallocx(size_t size, int flags)
{
	size_t align = (size_t)1 << (flags & LG_ALIGN_MASK);
	void *block;

	if (posix_memalign(&block, align < ALIGN_LEAST ? ALIGN_LEAST : align, size))
		return NULL;
	return flags & ZERO ? memset(block, 0, size) : block;
}

static void *instead_rallocx(void *block, size_t size, int flags)
{
	size_t before = malloc_usable_size(block);
	void *again = instead_mallocx(size, flags);

	if (!again)
		return NULL;
	memcpy(again, block, before < size ? before : size);
	free(block);
	return again;
}

static size_t instead_xallocx(void *block, size_t size, size_t extra, int flags)
{
	(void)size, (void)extra, (void)flags;
	return malloc_usable_size(block);
}

static void instead_dallocx(void *block, int flags)
{
	(void)flags;
	free(block);
}

static void instead_sdallocx(void *block, size_t size, int flags)
{
	(void)size, (void)flags;
	free(block);
}

static struct {
	void *(*mallocx)(size_t size, int flags);
	void *(*rallocx)(void *block, size_t size, int flags);
	size_t (*xallocx)(void *block, size_t size, size_t extra, int flags);
	void (*dallocx)(void *block, int flags);
	void (*sdallocx)(void *block, size_t size, int flags);
	int is_resolved;
} real;

static void *either(const char *name, void *instead)
{
	void *function = alloc_next(name);

	return function ? function : instead;
}

static ALLOC_SLOW void look_for_them(void)
{
	real.mallocx = either("mallocx", instead_mallocx);
	real.rallocx = either("rallocx", instead_rallocx);
	real.xallocx = either("xallocx", instead_xallocx);
	real.dallocx = either("dallocx", instead_dallocx);
	real.sdallocx = either("sdallocx", instead_sdallocx);
	__atomic_store_n(&real.is_resolved, 1, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void resolve(void)
{
	if (__builtin_expect(!__atomic_load_n(&real.is_resolved, __ATOMIC_ACQUIRE), 0))
		look_for_them();
}

static ALLOC_SLOW void *drawn_mallocx(size_t size, int flags, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.mallocx(size, flags);

	alloc_draw_take(block, size, sp, rbp);
	return block;
}

void *mallocx(size_t size, int flags)
{
	resolve();
	if (!ALLOC_PASSES(size))
		return drawn_mallocx(size, flags, ALLOC_SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.mallocx(size, flags);
}

static ALLOC_SLOW void *drawn_rallocx(void *block, size_t size, int flags, const uintptr_t *sp,
				      uintptr_t rbp)
{
	int was_there = alloc_table_leave((uintptr_t)block);
	void *again = real.rallocx(block, size, flags);

	alloc_draw_again(again, size, was_there, sp, rbp);
	return again;
}

void *rallocx(void *block, size_t size, int flags)
{
	resolve();
	if (!ALLOC_PASSES(size) || alloc_table_may_hold((uintptr_t)block))
		return drawn_rallocx(block, size, flags, ALLOC_SP, alloc_rbp());
	alloc_draw_left_bytes -= size;
	return real.rallocx(block, size, flags);
}

/* The block stays where it is, and who asked for it is who changes its size, as in realloc(). */
static ALLOC_SLOW size_t held_xallocx(void *block, size_t size, size_t extra, int flags,
				      const uintptr_t *sp, uintptr_t rbp)
{
	int was_there = alloc_table_leave((uintptr_t)block);
	size_t bytes = real.xallocx(block, size, extra, flags);

	if (was_there)
		alloc_table_enter((uintptr_t)block, bytes, sp, rbp);
	return bytes;
}

size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
	resolve();
	if (alloc_table_may_hold((uintptr_t)block))
		return held_xallocx(block, size, extra, flags, ALLOC_SP, alloc_rbp());
	return real.xallocx(block, size, extra, flags);
}

void dallocx(void *block, int flags)
{
	resolve();
	alloc_draw_leave(block);
	real.dallocx(block, flags);
}

void sdallocx(void *block, size_t size, int flags)
{
	resolve();
	alloc_draw_leave(block);
	real.sdallocx(block, size, flags);
}
