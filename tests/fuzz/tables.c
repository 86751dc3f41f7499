// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Large tables for the fuzzers: an engine's take 78 MB, of which a small recording touches next to
 * nothing.  The address sanitizer would map and mark all of a large table for each input, and its
 * pages would be faulted in anew; here a table that is freed is cleared where it was touched, and
 * is the next one of its size.  It ends right before an inaccessible page, the rest of its own pages is
 * poisoned, and so is what was touched of it while it is free: accesses past its end, right before it
 * and after free() are found.  When all are taken the sanitizer's allocator goes on, and finds which of
 * them leak.  The linker puts these in the place of the allocator's functions in all that is linked
 * statically (--wrap in the Makefile); what libraries allocate is the sanitizer's.  For one thread, on
 * a machine that does not swap: what is swapped out seems untouched.
 */
#include <errno.h>
#include <sanitizer/allocator_interface.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_reallocarray(void *block, size_t n, size_t size);
void __wrap_free(void *block);

enum {
	PAGE_BYTES = 4096,
	ALIGN_BYTES = 16,
	TABLE_BYTES = 1 << 16, /* of the least table */
	TABLES_MAX = 512,
	/* More touched pages than that, beyond twice as many as the first use touched, are given back. */
	MORE_PAGES = 16,
};

struct table {
	uint8_t *map;
	size_t pages;	/* without the inaccessible one */
	uint8_t *block; /* NULL: it is free */
	size_t bytes;
	size_t first_touched; /* pages; 0: it was not used since they were given back */
	uint8_t *is_touched;  /* for each page, while it is free: cleared and poisoned since */
};

static struct table tables[TABLES_MAX];
static size_t n_tables;
static uintptr_t lowest = UINTPTR_MAX, highest;

static struct table *map_table(size_t pages)
{
	struct table *t = &tables[n_tables];
	size_t bytes = (pages + 1) * PAGE_BYTES;

	if (n_tables == TABLES_MAX)
		return NULL;
	t->is_touched = __real_calloc(pages, 1);
	t->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!t->is_touched || t->map == MAP_FAILED ||
	    mprotect(t->map + pages * PAGE_BYTES, PAGE_BYTES, PROT_NONE))
		abort();
	t->pages = pages;
	if (lowest > (uintptr_t)t->map)
		lowest = (uintptr_t)t->map;
	if (highest < (uintptr_t)t->map + bytes)
		highest = (uintptr_t)t->map + bytes;
	n_tables++;
	return t;
}

/* Calls fn for each run of touched pages. */
static void each_run(const struct table *t, void (*fn)(void const volatile *at, size_t bytes))
{
	for (size_t from = 0, to; from < t->pages; from = to) {
		const uint8_t *next = memchr(t->is_touched + from, 1, t->pages - from);

		if (!next)
			return;
		from = (size_t)(next - t->is_touched);
		for (to = from; to < t->pages && t->is_touched[to]; to++)
			;
		fn(t->map + from * PAGE_BYTES, (to - from) * PAGE_BYTES);
	}
}

static void clear(void const volatile *at, size_t bytes)
{
	memset((void *)(uintptr_t)at, 0, bytes);
	__asan_poison_memory_region(at, bytes);
}

/* Calls fn for what is no part of the block. */
static void each_edge(const struct table *t, void (*fn)(void const volatile *at, size_t bytes))
{
	uint8_t *end = t->block + t->bytes;

	fn(t->map, (size_t)(t->block - t->map));
	fn(end, (size_t)(t->map + t->pages * PAGE_BYTES - end));
}

static void *take_table(size_t align, size_t bytes)
{
	size_t aligned = (bytes + align - 1) & ~(align - 1);
	size_t pages = (aligned + PAGE_BYTES - 1) / PAGE_BYTES;
	struct table *t = NULL;

	for (size_t i = 0; i < n_tables && !t; i++)
		if (!tables[i].block && tables[i].pages == pages)
			t = &tables[i];
	if (!t)
		t = map_table(pages);
	if (!t)
		return NULL;
	each_run(t, __asan_unpoison_memory_region);
	t->block = t->map + pages * PAGE_BYTES - aligned;
	t->bytes = bytes;
	each_edge(t, __asan_poison_memory_region);
	/* Pointers in static tables, too, keep what they point to from being a leak. */
	__lsan_register_root_region(t->map, pages * PAGE_BYTES);
	return t->block;
}

static void give_table(struct table *t)
{
	size_t n = 0;

	each_edge(t, __asan_unpoison_memory_region);
	__lsan_unregister_root_region(t->map, t->pages * PAGE_BYTES);
	t->block = NULL;
	if (mincore(t->map, t->pages * PAGE_BYTES, t->is_touched))
		abort();
	for (size_t i = 0; i < t->pages; i++)
		n += t->is_touched[i] &= 1;
	if (!t->first_touched)
		t->first_touched = n;
	if (n <= 2 * t->first_touched + MORE_PAGES) {
		each_run(t, clear);
		return;
	}
	if (madvise(t->map, t->pages * PAGE_BYTES, MADV_DONTNEED))
		abort();
	memset(t->is_touched, 0, t->pages);
	t->first_touched = 0;
}

static struct table *table_of(const void *block)
{
	if ((uintptr_t)block < lowest || (uintptr_t)block >= highest)
		return NULL;
	for (size_t i = 0; i < n_tables; i++)
		if (tables[i].block == block)
			return &tables[i];
	return NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	size_t bytes;
	void *block = NULL;

	if (!__builtin_mul_overflow(n, size, &bytes) && bytes >= TABLE_BYTES &&
	    bytes <= (size_t)PTRDIFF_MAX)
		block = take_table(ALIGN_BYTES, bytes);
	return block ? block : __real_calloc(n, size);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	void *block = NULL;

	if (align >= ALIGN_BYTES && align <= PAGE_BYTES && bytes >= TABLE_BYTES)
		block = take_table(align, bytes);
	return block ? block : __real_aligned_alloc(align, bytes);
}

void *__wrap_malloc(size_t bytes)
{
	return bytes >= TABLE_BYTES ? __wrap_calloc(1, bytes) : __real_malloc(bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
	struct table *t = block ? table_of(block) : NULL;
	size_t had = t ? t->bytes : block ? __sanitizer_get_allocated_size(block) : 0;
	void *other;

	if (!t && bytes < TABLE_BYTES)
		return __real_realloc(block, bytes);
	other = __wrap_malloc(bytes);
	if (!other)
		return NULL;
	if (had)
		memcpy(other, block, bytes < had ? bytes : had);
	__wrap_free(block);
	return other;
}

void *__wrap_reallocarray(void *block, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return __wrap_realloc(block, bytes);
}

void __wrap_free(void *block)
{
	struct table *t = block ? table_of(block) : NULL;

	if (t)
		give_table(t);
	else
		__real_free(block);
}
