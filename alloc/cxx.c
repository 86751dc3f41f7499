// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * operator new and delete, where they are of the allocator itself (jemalloc, tcmalloc) and so never call malloc() and
 * free() here; those of libstdc++ do, and are passed on to.  A program's own come before these and are not seen.
 */
#include <stdlib.h>

#include "draw.h"
#include "next.h"

/*
 * Their parameters, as far as they have them: the size or the block, then size, alignment, or std::nothrow.  All
 * are passed in registers, so what a function does not have is whatever the register holds.
 */
typedef void *new_function(size_t size, uintptr_t second, uintptr_t third);
typedef void delete_function(void *block, uintptr_t second, uintptr_t third);

/* Until somebody calls, real is what looks for it and begins anew. */
struct way {
	const char *name;
	void *real;
	int is_allocators;
};

static ALLOC_SLOW void resolve(struct way *way)
{
	void *real = alloc_next(way->name);

	/* Who calls it was linked with one. */
	if (!real)
		abort();
	way->is_allocators = alloc_next_is_allocators(real);
	__atomic_store_n(&way->real, real, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void *real_of(struct way *way)
{
	return __atomic_load_n(&way->real, __ATOMIC_ACQUIRE);
}

static ALLOC_SLOW void *drawn_new(new_function *real, size_t size, uintptr_t second,
				  uintptr_t third, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real(size, second, third);

	alloc_draw_take(block, size, sp, rbp);
	return block;
}

/* What is passed on is jumped to: a frame of this library would stand between the allocation and who asked for it. */
#define NEW(symbol)                                                                   \
	ALLOC_ENTRY new_function symbol;                                              \
	static new_function first##symbol;                                            \
	static struct way way##symbol = {.name = #symbol, .real = first##symbol};     \
                                                                                      \
	static void *first##symbol(size_t size, uintptr_t second, uintptr_t third)    \
	{                                                                             \
		resolve(&way##symbol);                                                \
		return symbol(size, second, third);                                   \
	}                                                                             \
                                                                                      \
	void *symbol(size_t size, uintptr_t second, uintptr_t third)                  \
	{                                                                             \
		new_function *real = (new_function *)real_of(&way##symbol);           \
                                                                                      \
		if (way##symbol.is_allocators) {                                      \
			if (!ALLOC_PASSES(size))                                      \
				return drawn_new(real, size, second, third, ALLOC_SP, \
						 alloc_rbp());                        \
			alloc_draw_left_bytes -= size;                                \
		}                                                                     \
		return real(size, second, third);                                     \
	}

#define DELETE(symbol)                                                            \
	ALLOC_ENTRY delete_function symbol;                                       \
	static delete_function first##symbol;                                     \
	static struct way way##symbol = {.name = #symbol, .real = first##symbol}; \
                                                                                  \
	static void first##symbol(void *block, uintptr_t second, uintptr_t third) \
	{                                                                         \
		resolve(&way##symbol);                                            \
		symbol(block, second, third);                                     \
	}                                                                         \
                                                                                  \
	void symbol(void *block, uintptr_t second, uintptr_t third)               \
	{                                                                         \
		if (way##symbol.is_allocators)                                    \
			alloc_draw_leave(block);                                  \
		((delete_function *)real_of(&way##symbol))(block, second, third); \
	}

NEW(_Znwm)
NEW(_Znam)
NEW(_ZnwmRKSt9nothrow_t)
NEW(_ZnamRKSt9nothrow_t)
NEW(_ZnwmSt11align_val_t)
NEW(_ZnamSt11align_val_t)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t)

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
