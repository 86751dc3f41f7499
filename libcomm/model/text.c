// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <stdio.h>
#include <string.h>

/* By its first byte: 0: none begins with it. */
static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/*
 * Bytes of the character that text begins with; 0: it is none.  Overlong forms, surrogates and what is
 * past U+10FFFF are none (The Unicode Standard, table 3-7).
 */
static size_t character(const char *bytes, size_t n)
{
	const unsigned char *text = (const unsigned char *)bytes;
	size_t length = length_of(text[0]);
	unsigned char low = 0x80, high = 0xbf;

	if (length < 2 || length > n)
		return length > n ? 0 : length;
	if (text[0] == 0xe0)
		low = 0xa0;
	if (text[0] == 0xed)
		high = 0x9f;
	if (text[0] == 0xf0)
		low = 0x90;
	if (text[0] == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

static bool is_control(const char *bytes, size_t length)
{
	unsigned char first = bytes[0];

	return length == 1 ? first < 0x20 || first == 0x7f
			   : first == 0xc2 && (unsigned char)bytes[1] < 0xa0;
}

size_t comm_text_clean(const char *text, size_t n, char *ret, size_t capacity)
{
	size_t fill = 0;

	n = strnlen(text, n);
	for (size_t at = 0, length; at < n; at += length) {
		bool kept;

		length = character(text + at, n - at);
		kept = length && !is_control(text + at, length);
		/* Byte by byte: the second one of C1 is no character, either. */
		length = kept ? length : 1;
		if (capacity - fill <= (kept ? length : COMM_TEXT_GROWTH))
			break;
		if (kept)
			memcpy(ret + fill, text + at, length);
		else
			snprintf(ret + fill, COMM_TEXT_GROWTH + 1, "\\x%02x",
				 (unsigned char)text[at]);
		fill += kept ? length : COMM_TEXT_GROWTH;
	}
	ret[fill] = '\0';
	return fill;
}

bool comm_text_is_clean(const char *text, size_t n)
{
	for (size_t at = 0, length; at < n; at += length) {
		length = character(text + at, n - at);
		if (!length || is_control(text + at, length))
			return false;
	}
	return true;
}

size_t comm_text_whole(const char *text, size_t n)
{
	enum { LONGEST = 4 };

	for (size_t back = 1; back < LONGEST && back <= n; back++) {
		unsigned char byte = text[n - back];

		if ((byte & 0xc0) == 0x80)
			continue;
		return length_of(byte) > back ? n - back : n;
	}
	return n;
}
