// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_pattern.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "bare_name.h"

enum { NAME_BYTES = 1024 };

bool comm_function_pattern_has(const char *pattern, const char *name)
{
	char head[NAME_BYTES];
	unsigned long bare = comm_bare_bytes(name);

	if (!strcmp(pattern, name) || !fnmatch(pattern, name, 0))
		return true;
	snprintf(head, sizeof(head), "%.*s", (int)bare, name);
	return bare && !fnmatch(pattern, head, 0);
}
