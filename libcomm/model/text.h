/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text from a target as names are kept: UTF-8 without control characters.  Each byte that is none,
 * or is of a control character (C0, DEL, C1), stands there as "\xNN", so that two texts stay two.
 * What turns the order of characters around is kept; forms of output see to it.
 */
#ifndef COMM_TEXT_H
#define COMM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { COMM_TEXT_GROWTH = 4 }; /* bytes for one that is not kept */

/*
 * Cleans the text up to its NUL, n bytes at most, into capacity bytes with a NUL.  What does not fit is
 * cut off between two characters.  Clean text stays as it is.  Returns its length in bytes.
 */
size_t comm_text_clean(const char *text, size_t n, char *ret, size_t capacity);
/* Whether n bytes are such text. */
bool comm_text_is_clean(const char *text, size_t n);
/* How many of n bytes are left without a character at their end that was cut through. */
size_t comm_text_whole(const char *text, size_t n);

#endif
