/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that this library stands in front of.  May allocate, so not for malloc()'s own first call in a thread. */
#ifndef ALLOC_NEXT_H
#define ALLOC_NEXT_H

/* NULL: the program has none. */
void *alloc_next(const char *name);
/*
 * Whether a function is of the library that malloc() is of.  Then what it allocates is not seen by malloc() here; one
 * of another library, as operator new of libstdc++, calls malloc() in its turn.
 */
int alloc_next_is_allocators(const void *function);

#endif
