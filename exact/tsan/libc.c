// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libc functions that move the program's data where the compiler cannot see
 * it (others: channel.c, string.c, mapping.c).  Copies are accesses of the calling thread where it calls.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "note.h"
#include "thread.h"

/* Fortified callers use these; no header declares them. */
void *__memcpy_chk(void *dst, const void *src, size_t n, size_t capacity);
void *__memmove_chk(void *dst, const void *src, size_t n, size_t capacity);
void *__memset_chk(void *dst, int c, size_t n, size_t capacity);
void __chk_fail(void) __attribute__((noreturn));
void *__libc_malloc(size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

/* rep movsb and stosb: fast on every machine with ERMS, and no call to ourselves. */
static void *copy(void *dst, const void *src, size_t n)
{
	void *ret = dst;

	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
	return ret;
}

static inline void *copy_noted(void *dst, const void *src, size_t n, uint64_t pc)
{
	comm_note_read(src, n, pc);
	comm_note_write(dst, n, pc);
	return copy(dst, src, n);
}

static void *move_noted(void *dst, const void *src, size_t n, uint64_t pc)
{
	unsigned char *d = dst;
	const unsigned char *s = src;

	comm_note_read(src, n, pc);
	comm_note_write(dst, n, pc);
	if ((uintptr_t)dst - (uintptr_t)src >= n)
		return copy(dst, src, n);
	while (n--)
		d[n] = s[n];
	return dst;
}

static void *set_noted(void *dst, int c, size_t n, uint64_t pc)
{
	void *p = dst;

	comm_note_write(dst, n, pc);
	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
	return dst;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return copy_noted(dst, src, n, COMM_NOTE_PC);
}

void *memmove(void *dst, const void *src, size_t n)
{
	return move_noted(dst, src, n, COMM_NOTE_PC);
}

void *memset(void *dst, int c, size_t n)
{
	return set_noted(dst, c, n, COMM_NOTE_PC);
}

void *__memcpy_chk(void *dst, const void *src, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return copy_noted(dst, src, n, COMM_NOTE_PC);
}

void *__memmove_chk(void *dst, const void *src, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return move_noted(dst, src, n, COMM_NOTE_PC);
}

void *__memset_chk(void *dst, int c, size_t n, size_t capacity)
{
	if (n > capacity)
		__chk_fail();
	return set_noted(dst, c, n, COMM_NOTE_PC);
}

static void *allocated(void *p, size_t n, uint64_t pc)
{
	if (p && n)
		comm_object_allocated((uint64_t)p, n, pc);
	return p;
}

void *comm_note_malloc(size_t bytes, uint64_t pc)
{
	return allocated(__libc_malloc(bytes), bytes, pc & ~COMM_EXACT_CALLEE);
}

void *malloc(size_t bytes)
{
	return allocated(__libc_malloc(bytes), bytes, COMM_NOTE_BEHIND);
}

void *memalign(size_t alignment, size_t bytes)
{
	return allocated(__libc_memalign(alignment, bytes), bytes, COMM_NOTE_BEHIND);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return allocated(__libc_memalign(alignment, bytes), bytes, COMM_NOTE_BEHIND);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	void *p;

	if (!alignment || alignment % sizeof(void *) || alignment & (alignment - 1))
		return EINVAL;
	p = allocated(__libc_memalign(alignment, bytes), bytes, COMM_NOTE_BEHIND);
	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void *calloc(size_t n, size_t bytes)
{
	void *p = allocated(__libc_calloc(n, bytes), n * bytes, COMM_NOTE_BEHIND);

	if (p)
		comm_note_write(p, n * bytes, COMM_NOTE_PC);
	return p;
}

void *realloc(void *old, size_t bytes)
{
	size_t had = old ? malloc_usable_size(old) : 0;
	/* glibc: bit 1 of the word before a block says that it is a mapping of its own. */
	int mapped = old && ((const size_t *)old)[-1] & 2;
	void *p = allocated(__libc_realloc(old, bytes), bytes, COMM_NOTE_BEHIND);

	if (!p || !old || p == old)
		return p;
	if (had > bytes)
		had = bytes;
	if (mapped) {
		comm_shadow_move((uint64_t)old, (uint64_t)p, had);
	} else {
		comm_note_read(old, had, COMM_NOTE_PC);
		comm_note_write(p, had, COMM_NOTE_PC);
	}
	return p;
}
