// SPDX-License-Identifier: GPL-2.0-or-later
#include "role.h"

#include <string.h>

void comm_role_of(const char *name, char ret[COMM_ROLE_BYTES])
{
	size_t n = strnlen(name, COMM_ROLE_BYTES - 1), keep = n;

	while (keep && strchr("0123456789-_.:/# ", name[keep - 1]))
		keep--;
	/* A separator alone goes too: the kernel may have cut its digits ("background-io-"). */
	memset(ret, 0, COMM_ROLE_BYTES);
	memcpy(ret, name, keep ? keep : n);
}
