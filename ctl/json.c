// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <math.h>
#include <stdio.h>

#include "utf8.h"

static FILE *out_of(const struct ctl_json *json)
{
	return json->out ? json->out : stdout;
}

static void quote(FILE *out, const char *text)
{
	putc('"', out);
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (*shown == '"' || *shown == '\\')
			putc('\\', out);
		fwrite(shown, 1, n, out);
	}
	putc('"', out);
}

/* Writes what comes before a value: the comma, the line break and the name. */
static void begin(struct ctl_json *json, const char *name)
{
	/* Past this depth everything stays on one line. */
	enum { LINES_DEPTH = 2 };
	FILE *out = out_of(json);

	if (json->depth && !json->first)
		putc(',', out);
	if (json->depth && json->depth <= LINES_DEPTH)
		fprintf(out, "\n%*s", json->depth, "");
	else if (json->depth && !json->first)
		putc(' ', out);
	json->first = false;
	if (name) {
		quote(out, name);
		fputs(": ", out);
	}
}

void ctl_json_open(struct ctl_json *json, const char *name, char bracket)
{
	begin(json, name);
	putc(bracket, out_of(json));
	json->depth++;
	json->first = true;
}

void ctl_json_close(struct ctl_json *json, char bracket)
{
	json->depth--;
	json->first = false;
	putc(bracket, out_of(json));
	if (!json->depth)
		putc('\n', out_of(json));
}

void ctl_json_string(struct ctl_json *json, const char *name, const char *value)
{
	begin(json, name);
	quote(out_of(json), value);
}

void ctl_json_count(struct ctl_json *json, const char *name, uint64_t value)
{
	begin(json, name);
	fprintf(out_of(json), "%llu", (unsigned long long)value);
}

void ctl_json_int(struct ctl_json *json, const char *name, int64_t value)
{
	begin(json, name);
	fprintf(out_of(json), "%lld", (long long)value);
}

void ctl_json_double(struct ctl_json *json, const char *name, double value)
{
	begin(json, name);
	if (isfinite(value))
		fprintf(out_of(json), "%.10g", value);
	else
		fputs("null", out_of(json));
}

void ctl_json_bool(struct ctl_json *json, const char *name, bool value)
{
	begin(json, name);
	fputs(value ? "true" : "false", out_of(json));
}

void ctl_json_begin(struct ctl_json *json)
{
	ctl_json_open(json, NULL, '{');
	ctl_json_count(json, "version", CTL_JSON_VERSION);
}
