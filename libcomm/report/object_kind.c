// SPDX-License-Identifier: GPL-2.0-or-later
#include "object_kind.h"

#include "ids.h"

const char *comm_object_kind_name(int64_t kind)
{
	static const char *const names[] = {
		[COMM_OBJECT_OTHER] = "other",	 [COMM_OBJECT_STATIC] = "static",
		[COMM_OBJECT_DATA] = "data",	 [COMM_OBJECT_HEAP] = "heap",
		[COMM_OBJECT_STACK] = "stack",	 [COMM_OBJECT_ANON] = "anonymous",
		[COMM_OBJECT_SHARED] = "shared", [COMM_OBJECT_MARKED] = "marked",
		[COMM_OBJECT_BLOCK] = "block",
	};

	return kind >= 0 && kind < (int64_t)(sizeof(names) / sizeof(*names)) ? names[kind]
									     : "other";
}
