// SPDX-License-Identifier: GPL-2.0-or-later
#include "csv.h"

#include <string.h>

#include "utf8.h"

void ctl_csv_field(FILE *out, const char *text)
{
	putc('"', out);
	if (*text && strchr("=+-@\t\r", *text))
		putc('\'', out);
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		if (*shown == '"')
			putc('"', out);
		fwrite(shown, 1, n, out);
	}
	putc('"', out);
}
