/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded into the target by Valgrind: tells the tool what was allocated, and
 * lets the program's own allocator do the work, so that its memory lies where
 * it would lie without us.  An inner call (realloc that calls malloc) reports
 * first, so the outermost caller's report stands.
 */
#include <stddef.h>

#include "mark.h"

#define ALLOCATED(block, bytes)                                                                    \
	do {                                                                                       \
		if (block)                                                                         \
			VALGRIND_DO_CLIENT_REQUEST_STMT(COMM_EXACT_REQUEST_ALLOCATED, block,       \
							bytes, __builtin_return_address(0), 0, 0); \
	} while (0)

#define WRAP(soname)                                                                      \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, malloc)(size_t bytes);                      \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, malloc)(size_t bytes)                       \
	{                                                                                 \
		OrigFn fn;                                                                \
		void *block;                                                              \
                                                                                          \
		VALGRIND_GET_ORIG_FN(fn);                                                 \
		CALL_FN_W_W(block, fn, bytes);                                            \
		ALLOCATED(block, bytes);                                                  \
		return block;                                                             \
	}                                                                                 \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, calloc)(size_t n, size_t each);             \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, calloc)(size_t n, size_t each)              \
	{                                                                                 \
		OrigFn fn;                                                                \
		void *block;                                                              \
                                                                                          \
		VALGRIND_GET_ORIG_FN(fn);                                                 \
		CALL_FN_W_WW(block, fn, n, each);                                         \
		ALLOCATED(block, n *each);                                                \
		return block;                                                             \
	}                                                                                 \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, realloc)(void *old, size_t bytes);          \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, realloc)(void *old, size_t bytes)           \
	{                                                                                 \
		OrigFn fn;                                                                \
		void *block;                                                              \
                                                                                          \
		VALGRIND_GET_ORIG_FN(fn);                                                 \
		CALL_FN_W_WW(block, fn, old, bytes);                                      \
		ALLOCATED(block, bytes);                                                  \
		return block;                                                             \
	}                                                                                 \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, memalign)(size_t align, size_t bytes);      \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, memalign)(size_t align, size_t bytes)       \
	{                                                                                 \
		OrigFn fn;                                                                \
		void *block;                                                              \
                                                                                          \
		VALGRIND_GET_ORIG_FN(fn);                                                 \
		CALL_FN_W_WW(block, fn, align, bytes);                                    \
		ALLOCATED(block, bytes);                                                  \
		return block;                                                             \
	}                                                                                 \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, aligned_alloc)(size_t align, size_t bytes); \
	void *I_WRAP_SONAME_FNNAME_ZU(soname, aligned_alloc)(size_t align, size_t bytes)  \
	{                                                                                 \
		OrigFn fn;                                                                \
		void *block;                                                              \
                                                                                          \
		VALGRIND_GET_ORIG_FN(fn);                                                 \
		CALL_FN_W_WW(block, fn, align, bytes);                                    \
		ALLOCATED(block, bytes);                                                  \
		return block;                                                             \
	}                                                                                 \
	int I_WRAP_SONAME_FNNAME_ZU(soname, posix_memalign)(void **ret, size_t align,     \
							    size_t bytes);                \
	int I_WRAP_SONAME_FNNAME_ZU(soname, posix_memalign)(void **ret, size_t align,     \
							    size_t bytes)                 \
	{                                                                                 \
		OrigFn fn;                                                                \
		int err;                                                                  \
                                                                                          \
		VALGRIND_GET_ORIG_FN(fn);                                                 \
		CALL_FN_W_WWW(err, fn, ret, align, bytes);                                \
		if (!err)                                                                 \
			ALLOCATED(*ret, bytes);                                           \
		return err;                                                               \
	}

WRAP(libcZdsoZa)
/* Allocators linked into the program, or preloaded. */
WRAP(NONE)
WRAP(libjemallocZa)
WRAP(libtcmallocZa)
WRAP(libmimallocZa)
