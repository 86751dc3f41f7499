/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room in arrays that grow, up to a bound, while a foreign file is read. */
#ifndef COMM_ARRAY_GROW_H
#define COMM_ARRAY_GROW_H

#include <stddef.h>

/*
 * Makes room for one element more behind the n of *array (a pointer to the pointer), which has
 * room for *capacity of each_bytes.  Returns 0, -ENOSPC: there are max already, or -ENOMEM.
 */
int comm_array_grow(void *array, size_t n, size_t *capacity, size_t max, size_t each_bytes);

#endif
