/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include "pub_tool_basics.h"
#include "pub_tool_libcbase.h"

#include "array.h"

enum {
	TEXT_BYTES_MAX = 1 << 28,
};

static struct comm_array text;

void comm_text_init(void)
{
	comm_array_init(&text, 1, TEXT_BYTES_MAX);
}

const char *comm_text_keep(const char *from)
{
	uint32_t bytes = VG_(strlen)(from) + 1;
	char *to = comm_array_at(&text, comm_array_add(&text, bytes));

	__builtin_memcpy(to, from, bytes);
	return to;
}
