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

/* Of "Thread-3 (parse)", as threading.Thread has it by default. */
static void drop_number(char role[COMM_ROLE_BYTES])
{
	static const char thread[] = "Thread-";
	const size_t number = strlen(thread);
	size_t n;

	if (strncmp(role, thread, number) != 0)
		return;
	n = strspn(role + number, "0123456789");
	if (!n || strncmp(role + number + n, " (", 2) != 0)
		return;
	/* The dash goes, too; the bytes behind the role are zeros. */
	memmove(role + number - 1, role + number + n, COMM_ROLE_BYTES - number - n);
	memset(role + COMM_ROLE_BYTES - n - 1, 0, n + 1);
}

void comm_role_of(const char *name, char ret[COMM_ROLE_BYTES])
{
	size_t n = strnlen(name, COMM_ROLE_BYTES - 1), keep = n;

	while (keep && strchr("0123456789-_.:/# ", name[keep - 1]) && !ends_in_byte(name, keep))
		keep--;
	/* A separator alone goes too: the kernel may have cut its digits ("background-io-"). */
	memset(ret, 0, COMM_ROLE_BYTES);
	memcpy(ret, name, keep ? keep : n);
	drop_number(ret);
}
