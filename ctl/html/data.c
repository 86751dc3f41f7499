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

void ctl_data_text(FILE *out, const char *text)
{
	const char *start = text;

	putc('"', out);
	while (*text && text - start < DATA_TEXT_MAX) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (strchr("<>&'\"\\", *shown))
			fprintf(out, "\\u%04x%.*s", *shown, n - 1, shown + 1);
		else
			fwrite(shown, 1, n, out);
	}
	if (*text)
		fputs("\\u2026", out);
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
