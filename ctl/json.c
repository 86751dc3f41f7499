// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <math.h>
#include <stdio.h>

/*
 * Length of the valid UTF-8 sequence that text begins with; 0: none.  Overlong
 * forms, surrogates and what is past U+10FFFF are not valid.
 */
static int utf8_length(const unsigned char *text)
{
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

static void quote(const char *value)
{
	const unsigned char *text = (const unsigned char *)value;

	putchar('"');
	while (*text) {
		int n = utf8_length(text);

		if (!n) {
			fputs("\\ufffd", stdout);
			text++;
			continue;
		}
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if (*text < 0x20 || *text == 0x7f)
			printf("\\u%04x", *text);
		else
			fwrite(text, 1, n, stdout);
		text += n;
	}
	putchar('"');
}

/* The comma, the line and the name before a value. */
static void begin(struct ctl_json *json, const char *name)
{
	/* Past this depth everything stays on one line. */
	enum { LINES_DEPTH = 2 };

	if (json->depth && !json->first)
		putchar(',');
	if (json->depth && json->depth <= LINES_DEPTH)
		printf("\n%*s", json->depth, "");
	else if (json->depth && !json->first)
		putchar(' ');
	json->first = false;
	if (name) {
		quote(name);
		fputs(": ", stdout);
	}
}

void ctl_json_open(struct ctl_json *json, const char *name, char bracket)
{
	begin(json, name);
	putchar(bracket);
	json->depth++;
	json->first = true;
}

void ctl_json_close(struct ctl_json *json, char bracket)
{
	json->depth--;
	json->first = false;
	putchar(bracket);
	if (!json->depth)
		putchar('\n');
}

void ctl_json_string(struct ctl_json *json, const char *name, const char *value)
{
	begin(json, name);
	quote(value);
}

void ctl_json_count(struct ctl_json *json, const char *name, uint64_t value)
{
	begin(json, name);
	printf("%llu", (unsigned long long)value);
}

void ctl_json_int(struct ctl_json *json, const char *name, int64_t value)
{
	begin(json, name);
	printf("%lld", (long long)value);
}

void ctl_json_double(struct ctl_json *json, const char *name, double value)
{
	begin(json, name);
	if (isfinite(value))
		printf("%.10g", value);
	else
		fputs("null", stdout);
}

void ctl_json_bool(struct ctl_json *json, const char *name, bool value)
{
	begin(json, name);
	fputs(value ? "true" : "false", stdout);
}
