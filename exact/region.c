/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "region.h"

#include "array.h"

static struct comm_array regions;

UInt comm_region_add(UInt parent, const HChar *name)
{
	UInt id;

	if (comm_array_count(&regions) == COMM_REGIONS_MAX)
		return COMM_REGION_OTHER;
	id = comm_array_add(&regions, 1);
	*(struct comm_vg_region *)comm_array_at(&regions, id) =
		(struct comm_vg_region){parent, name};
	return id;
}

void comm_regions_init(void)
{
	comm_array_init(&regions, sizeof(struct comm_vg_region), COMM_REGIONS_MAX);
	comm_region_add(COMM_REGION_NONE, "");
	comm_region_add(COMM_REGION_NONE, "(other)");
}

UInt comm_region_count(void)
{
	return comm_array_count(&regions);
}

const struct comm_vg_region *comm_region_get(UInt id)
{
	return comm_array_at(&regions, id);
}
