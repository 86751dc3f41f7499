/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays by id that grow as far as ids do; elements that nobody has written are zero. */
#ifndef COMM_ZEROED_ARRAY_H
#define COMM_ZEROED_ARRAY_H

#include <stddef.h>

/*
 * Makes room for index in *array (a pointer to the pointer), which has *n elements of each_bytes.  0 or -ENOMEM, then
 * nothing has changed.
 */
int comm_zeroed_array_reach(void *array, size_t *n, size_t index, size_t each_bytes);

#endif
