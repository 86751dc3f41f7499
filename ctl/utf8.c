// SPDX-License-Identifier: GPL-2.0-or-later
#include "utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Length of the valid sequence that bytes begins with; 0: none.  Overlong forms, surrogates and
 * code points past U+10FFFF are not valid.
 */
static int sequence(const char *bytes)
{
	const unsigned char *text = (const unsigned char *)bytes;
	unsigned char low = 0x80, high = 0xbf;
	int n;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	n = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
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
	for (int i = 2; i < n; i++) {
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	}
	return n;
}

static uint32_t code_point(const char *bytes, int length)
{
	const unsigned char *text = (const unsigned char *)bytes;
	uint32_t value = length == 1 ? text[0] : text[0] & (0x7f >> length);

	for (int i = 1; i < length; i++)
		value = value << 6 | (text[i] & 0x3f);
	return value;
}

/* Unicode 15: controls, and what is of the kind "format" but the two joiners, which scripts need. */
static bool is_shown(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0, 0x1f},	    {0x7f, 0x9f},     {0xad, 0xad},	{0x61c, 0x61c},
		{0x180e, 0x180e},   {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
		{0x2060, 0x206f},   {0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
		{0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return false;
	/* The last two of each plane are no characters. */
	return (point & 0xfffe) != 0xfffe;
}

const char *ctl_utf8_take(const char **text, int *ret_length)
{
	static char escape[sizeof("\\U0010ffff")];
	const char *at = *text;
	int length = sequence(at);
	uint32_t point = length ? code_point(at, length) : (unsigned char)*at;

	*text += length ? length : 1;
	*ret_length = length;
	if (length && is_shown(point))
		return at;
	*ret_length = snprintf(escape, sizeof(escape),
			       length < 2	 ? "\\x%02x"
			       : point < 0x10000 ? "\\u%04x"
						 : "\\U%08x",
			       point);
	return escape;
}

const char *ctl_utf8_take_ascii(const char **text, int *ret_length)
{
	static char escape[sizeof("\\U0010ffff")];
	const char *shown = ctl_utf8_take(text, ret_length);
	uint32_t point;

	if (!(*shown & 0x80))
		return shown;
	point = code_point(shown, *ret_length);
	*ret_length =
		snprintf(escape, sizeof(escape), point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
	return escape;
}

size_t ctl_utf8_start(const char *text, size_t at)
{
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	return at;
}
