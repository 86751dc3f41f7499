/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the library itself needs of strings: libc's functions are interposed (string.c), and would count. */
#ifndef COMM_EXACT_TSAN_TEXT_H
#define COMM_EXACT_TSAN_TEXT_H

#include <stddef.h>

/* As far as one of the bytes in end, or a NUL; n at most. */
static inline size_t comm_text_until(const char *text, size_t n, const char *end)
{
	size_t i = 0, k;

	for (; i < n && text[i]; i++)
		for (k = 0; end[k]; k++)
			if (text[i] == end[k])
				return i;
	return i;
}

static inline size_t comm_text_bytes(const char *text, size_t n)
{
	return comm_text_until(text, n, "");
}

#endif
