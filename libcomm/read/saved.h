/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that a child process saves in a memory file and its parent loads: pieces one behind
 * the other, of equal machines.  The child may be in the hands of a hostile file: whoever loads checks
 * every number, and never maps the file, which may be cut at any time.
 */
#ifndef COMM_SAVED_H
#define COMM_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes at *offset and moves it on.  False: the file takes no more. */
bool comm_saved_put(int to, const void *from, size_t bytes, uint64_t *offset);
/* Reads at *offset and moves it on.  -ENODATA: the file ends before. */
int comm_saved_get(int from, void *to, size_t bytes, uint64_t *offset);
/*
 * Reads an array into new memory, of which *array then points to the start, the caller's also
 * on an error.  The caller has bounded n; one more element, of zeros, follows the last.
 */
int comm_saved_array(int from, void *array, size_t n, size_t each_bytes, uint64_t *offset);
/*
 * Reads texts that stand one behind the other, each with its NUL, into new memory, as above.
 * -ENODATA also: one is longer than longest, so that none takes long to look through.
 */
int comm_saved_texts(int from, char **texts, size_t bytes, size_t longest, uint64_t *offset);

#endif
