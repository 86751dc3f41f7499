/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dense ids for regions: calls that are told apart (call.h), each within another one or none.  All processes
 * that came from one by fork() have them in common.
 */
#ifndef COMM_EXACT_REGION_H
#define COMM_EXACT_REGION_H

#include "pub_tool_basics.h"

enum {
	COMM_REGIONS_MAX = 1 << 14,
	COMM_REGION_BYTES = 64, /* as much of a name as results have, and a NUL */
};

/* None, and one for which there was no room. */
enum { COMM_REGION_NONE, COMM_REGION_OTHER, COMM_REGION_FIRST };

struct comm_vg_region {
	UInt parent; /* the region around it */
	const HChar *name;
};

void comm_regions_init(void);
/* A new one; the name stays the caller's, and as it is. */
UInt comm_region_add(UInt parent, const HChar *name);

UInt comm_region_count(void);
const struct comm_vg_region *comm_region_get(UInt id);

#endif
