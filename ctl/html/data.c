// SPDX-License-Identifier: GPL-2.0-or-later
#include "data.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum {
	DATA_TEXT_MAX = 1000, /* bytes: C++ names have been met that are longer than a page */
	DATA_DIGITS = 5,
};

/* The code point of a valid sequence of n bytes. */
static uint32_t code_point(const unsigned char *text, int n)
{
	static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t point = text[0] & mask[n];

	for (int i = 1; i < n; i++)
		point = point << 6 | (text[i] & 0x3f);
	return point;
}

/*
 * Control characters, and those that show nothing but change what stands beside them:
 * zero widths, marks and overrides of direction, separators of lines, byte order marks, tags.
 */
static bool is_hidden(uint32_t point)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{0, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x61c, 0x61c},
		{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		{0xfdd0, 0xfdef}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
	};

	if ((point & 0xfffe) == 0xfffe)
		return true;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (point >= ranges[i].from && point <= ranges[i].to)
			return true;
	return false;
}

void ctl_data_text(FILE *out, const char *text)
{
	const char *start = text;

	putc('"', out);
	while (*text) {
		int n = ctl_utf8_length(text);

		if (text - start >= DATA_TEXT_MAX) {
			fputs("\\u2026", out);
			break;
		}
		if (!n || is_hidden(code_point((const unsigned char *)text, n)))
			fputs("\\ufffd", out);
		else if (strchr("<>&'\"\\", *text))
			fprintf(out, "\\u%04x", *text);
		else
			fwrite(text, 1, n, out);
		text += n ? n : 1;
	}
	putc('"', out);
}

/* 1.2346e+07 becomes 12346e3. */
void ctl_data_number(FILE *out, double value)
{
	char text[32], *digits = text, *at;
	int exponent, n;

	if (!isfinite(value)) {
		fputs("null", out);
		return;
	}
	snprintf(text, sizeof(text), "%.*e", DATA_DIGITS - 1, value);
	exponent = atoi(strchr(text, 'e') + 1) - (DATA_DIGITS - 1);
	*strchr(text, 'e') = '\0';
	at = text + strcspn(text, ".,");
	memmove(at, at + 1, strlen(at));
	if (*digits == '-') {
		putc('-', out);
		digits++;
	}
	digits += strspn(digits, "0");
	for (n = strlen(digits); n && digits[n - 1] == '0'; n--)
		exponent++;
	if (!n)
		putc('0', out);
	else if (exponent >= 0 && exponent <= 2)
		fprintf(out, "%.*s%.*s", n, digits, exponent, "00");
	else if (exponent < 0 && -exponent < n)
		fprintf(out, "%.*s.%.*s", n + exponent, digits, -exponent, digits + n + exponent);
	else
		fprintf(out, "%.*se%d", n, digits, exponent);
}

void ctl_data_member_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\":", name);
	ctl_data_text(out, text);
	putc(',', out);
}

void ctl_data_member(FILE *out, const char *name, double value)
{
	fprintf(out, "\"%s\":", name);
	ctl_data_number(out, value);
	putc(',', out);
}

void ctl_data_member_count(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "\"%s\":%" PRIu64 ",", name, value);
}
