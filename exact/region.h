/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dense ids for regions: what a program marks (comm/mark.h), and calls that are told apart (call.h), each within
 * another one or none.  Names are copied when first met.  All processes that came from one by fork() have them in
 * common; a region that two of these meet may have an id in each.
 */
#ifndef COMM_EXACT_REGION_H
#define COMM_EXACT_REGION_H

#include <stdint.h>

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
/* That of a mark: the name stands in the target's memory, and is hostile. */
uint32_t comm_region_marked(uint32_t parent, uint64_t name);

/* The name of a mark, of COMM_REGION_BYTES at most.  False: there is none. */
Bool comm_region_read_name(uint64_t at, HChar *ret);

UInt comm_region_count(void);
const struct comm_vg_region *comm_region_get(UInt id);

#endif
