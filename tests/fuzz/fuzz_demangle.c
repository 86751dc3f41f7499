// SPDX-License-Identifier: GPL-2.0-or-later
/* Demangles a symbol's name into buffers of two sizes. */
#include "demangle.h"
#include "text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), all[512], part[7];
	size_t n;

	if (!name)
		abort();
	memcpy(name, data, size);
	name[size] = 0;
	/* In the small buffer the name is cut, between two characters, not changed. */
	if (comm_demangle(name, all, sizeof(all)) == all) {
		n = strnlen(all, sizeof(part) - 1);
		if (n == sizeof(part) - 1)
			n = comm_text_whole(all, n);
		if (comm_demangle(name, part, sizeof(part)) != part || strlen(part) != n ||
		    strncmp(all, part, n))
			abort();
	}
	free(name);
	return 0;
}
