// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <math.h>
#include <stdio.h>

#include "utf8.h"

static void quote(const char *text)
{
	putchar('"');
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (*shown == '"' || *shown == '\\')
			putchar('\\');
		fwrite(shown, 1, n, stdout);
	}
	putchar('"');
}

/* Writes what comes before a value: the comma, the line break and the name. */
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
