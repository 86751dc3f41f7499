// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * malloc() and its kin in front of the allocator's own.  Of all bytes that a thread allocates some are drawn, and
 * a block with one of them is entered in the table (table.h); all others pay for a subtraction, and
 * what is freed for a look at one byte.  No lock, no allocation, no call of anything that may
 * allocate: a thread may be interrupted or forked wherever it is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table.h"

#define ENTRY __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
/* The way to another thread's variable might allocate it. */
#define THREAD __thread __attribute__((tls_model("initial-exec")))

enum { MEAN_BYTES = 512 << 10 };

static uint64_t mean_bytes = MEAN_BYTES;
static THREAD uint64_t left_bytes; /* until the next byte that is drawn */
static THREAD uint64_t random_state;
static THREAD int is_resolving;

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
	void *function = dlsym(RTLD_NEXT, name);

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

/*
 * How many bytes until the next one that is drawn: exponentially distributed, but for the mean at most, so
 * that no larger block is missed.
 */
static uint64_t draw(void)
{
	union {
		double value;
		uint64_t bits;
	} u;
	double log2, bytes;

	/* xorshift64*, and its high bits as a number above 0, up to 1. */
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	u.value = (double)((random_state * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) * 0x1p-53;
	/* Its exponent, and a parabola through the logarithm of the rest: 0.01 off at most. */
	log2 = (double)(int64_t)(u.bits >> 52) - 1023;
	u.bits = (u.bits & UINT64_MAX >> 12) | UINT64_C(1023) << 52;
	log2 += (2 - u.value / 3) * u.value - 5.0 / 3;
	bytes = -0.693147 * log2 * (double)mean_bytes;
	return bytes < (double)mean_bytes ? (uint64_t)(bytes > 1 ? bytes : 1) : mean_bytes;
}

/* A block was allocated that a drawn byte is in, or that is the first one of its thread. */
static void take(const void *block, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	if (!random_state) {
		random_state = (uintptr_t)&random_state ^ alloc_table_now_ns() << 20;
		random_state |= !random_state;
		left_bytes = draw();
		if (size < left_bytes) {
			left_bytes -= size;
			return;
		}
	}
	left_bytes = draw();
	if (block)
		alloc_table_enter((uintptr_t)block, size, sp, rbp);
}

#define PASSES(size) __builtin_expect((size) < left_bytes, 1)
#define SP ((const uintptr_t *)__builtin_dwarf_cfa())

static inline __attribute__((always_inline)) uintptr_t rbp_here(void)
{
	uintptr_t rbp;

	__asm__ volatile("mov %%rbp, %0" : "=r"(rbp));
	return rbp;
}

static SLOW void *drawn_malloc(size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.malloc(size);

	take(block, size, sp, rbp);
	return block;
}

ENTRY void *malloc(size_t size)
{
	if (!PASSES(size))
		return drawn_malloc(size, SP, rbp_here());
	left_bytes -= size;
	return real.malloc(size);
}

static SLOW void *drawn_calloc(size_t n, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.calloc(n, size);

	take(block, n * size, sp, rbp);
	return block;
}

ENTRY void *calloc(size_t n, size_t size)
{
	if (!PASSES(n * size))
		return drawn_calloc(n, size, SP, rbp_here());
	left_bytes -= n * size;
	return real.calloc(n, size);
}

/* What was in the table stays there: it is allocated here now. */
static SLOW void *drawn_realloc(void *block, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	int was_there = block && alloc_table_leave((uintptr_t)block);
	void *again = real.realloc(block, size);

	if (!PASSES(size))
		take(again, size, sp, rbp);
	else if (was_there && again)
		alloc_table_enter((uintptr_t)again, size, sp, rbp);
	else
		left_bytes -= size;
	return again;
}

ENTRY void *realloc(void *block, size_t size)
{
	if (!PASSES(size) || alloc_table_may_hold((uintptr_t)block))
		return drawn_realloc(block, size, SP, rbp_here());
	left_bytes -= size;
	return real.realloc(block, size);
}

static SLOW int drawn_posix_memalign(void **ret, size_t align, size_t size, const uintptr_t *sp,
				     uintptr_t rbp)
{
	int error = real.posix_memalign(ret, align, size);

	take(error ? NULL : *ret, size, sp, rbp);
	return error;
}

ENTRY int posix_memalign(void **ret, size_t align, size_t size)
{
	if (!PASSES(size))
		return drawn_posix_memalign(ret, align, size, SP, rbp_here());
	left_bytes -= size;
	return real.posix_memalign(ret, align, size);
}

static SLOW void *drawn_aligned_alloc(size_t align, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.aligned_alloc(align, size);

	take(block, size, sp, rbp);
	return block;
}

ENTRY void *aligned_alloc(size_t align, size_t size)
{
	if (!PASSES(size))
		return drawn_aligned_alloc(align, size, SP, rbp_here());
	left_bytes -= size;
	return real.aligned_alloc(align, size);
}

static SLOW void *drawn_memalign(size_t align, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	void *block = real.memalign(align, size);

	take(block, size, sp, rbp);
	return block;
}

ENTRY void *memalign(size_t align, size_t size)
{
	if (!PASSES(size))
		return drawn_memalign(align, size, SP, rbp_here());
	left_bytes -= size;
	return real.memalign(align, size);
}

static SLOW void held_free(void *block)
{
	if (block)
		alloc_table_leave((uintptr_t)block);
	real.free(block);
}

ENTRY void free(void *block)
{
	if (__builtin_expect(alloc_table_may_hold((uintptr_t)block), 0))
		held_free(block);
	else
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

/* COMM_ALLOC_BYTES: of the program's environment, which is its user's. */
static __attribute__((constructor)) void look_at_environment(void)
{
	static const char what[] = "libcomm-alloc: COMM_ALLOC_BYTES is no number of bytes from 1 "
				   "to 1099511627776; 524288 is taken\n";
	const char *text = getenv("COMM_ALLOC_BYTES");
	uint64_t bytes = 0;

	if (!text)
		return;
	for (; *text >= '0' && *text <= '9' && !(bytes >> 40); text++)
		bytes = bytes * 10 + (uint64_t)(*text - '0');
	if (*text || !bytes || bytes > UINT64_C(1) << 40) {
		if (write(STDERR_FILENO, what, sizeof(what) - 1) < 0)
			return;
		return;
	}
	mean_bytes = bytes;
	/* This thread has drawn already, by the other mean. */
	left_bytes = 1;
}
