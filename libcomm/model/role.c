// SPDX-License-Identifier: GPL-2.0-or-later
#include "role.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

/* "\\x09", which stands for a byte (text.h), is no number. */
static bool ends_in_byte(const char *name, size_t n)
{
	return n >= COMM_TEXT_GROWTH && !memcmp(name + n - COMM_TEXT_GROWTH, "\\x", 2) &&
	       isxdigit((unsigned char)name[n - 2]) && isxdigit((unsigned char)name[n - 1]);
}

void comm_role_of(const char *name, char ret[COMM_ROLE_BYTES])
{
	size_t n = strnlen(name, COMM_ROLE_BYTES - 1), keep = n;

	while (keep && strchr("0123456789-_.:/# ", name[keep - 1]) && !ends_in_byte(name, keep))
		keep--;
	/* A separator alone goes too: the kernel may have cut its digits ("background-io-"). */
	memset(ret, 0, COMM_ROLE_BYTES);
	memcpy(ret, name, keep ? keep : n);
}
