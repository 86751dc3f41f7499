// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses hostile /proc/PID/maps text; the mappings must be sorted and their names printable. */
#include "maps.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_mapping *m;
	size_t n;

	if (comm_names_create(1 << 20, &names) < 0 || comm_maps_create(names, &maps) < 0)
		abort();
	if (comm_maps_parse(maps, (const char *)data, size, &m, &n) == 0) {
		for (size_t i = 0; i < n; i++) {
			if (m[i].start >= m[i].end || (i && m[i].start < m[i - 1].end))
				abort();
			if (!comm_text_is_clean(m[i].path, strlen(m[i].path)))
				abort();
		}
		free(m);
	}
	comm_maps_destroy(maps);
	comm_names_destroy(names);
	return 0;
}
