// SPDX-License-Identifier: GPL-2.0-or-later
/* Hostile command lines, as many readings of one process: titles and roles are clean text and end. */
#include "text.h"
#include "title.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char title[COMM_TITLE_BYTES])
{
	size_t n = strnlen(title, COMM_TITLE_BYTES);

	if (n == COMM_TITLE_BYTES)
		abort();
	if (!comm_text_is_clean(title, n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char title[COMM_TITLE_BYTES] = "", reading[COMM_TITLE_BYTES], role[COMM_TITLE_BYTES];

	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t n = end ? (size_t)(end - data) : size;

		comm_title_of((const char *)data, n, reading);
		check(reading);
		comm_title_take(title, reading);
		check(title);
		/* Titles of a store or a recording need not be as comm_title_of() makes them. */
		for (int i = 0; i < 2; i++) {
			memset(role, 'x', sizeof(role));
			comm_title_role(title, role);
			check(role);
			comm_title_fits(title, "server");
			memcpy(title, data, n < sizeof(title) ? n : sizeof(title) - 1);
			for (size_t at = 0; at < sizeof(title) - 1; at++)
				if (title[at] < 0x20 || title[at] > 0x7e)
					title[at] = 0;
		}
		data += n + !!end;
		size -= n + !!end;
	}
	return 0;
}
