/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "region.h"

#include "array.h"
#include "image.h"
#include "text.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

enum {
	PARENT_SHIFT = 48, /* above the addresses of names */
};

/* A mark that was met. */
struct known {
	VgHashNode node; /* key: the region around it, and where its name stands */
	UInt id;
};

static struct comm_array regions;
static VgHashTable *known_marks;

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
	known_marks = VG_(HT_construct)("comm.known_marks");
	comm_region_add(COMM_REGION_NONE, "");
	comm_region_add(COMM_REGION_NONE, "(other)");
}

/* What is no address of the user's is no name: NULL, and code in place of one. */
Bool comm_region_read_name(uint64_t at, HChar *ret)
{
	UInt n = 0;

	if (!at || at >> PARENT_SHIFT)
		return False;
	while (n < COMM_REGION_BYTES - 1 && comm_image_is_readable(at + n, 1) &&
	       ((const HChar *)at)[n]) {
		ret[n] = ((const HChar *)at)[n];
		n++;
	}
	ret[n] = 0;
	if (!comm_image_is_readable(at, 1))
		VG_(strcpy)(ret, "(unreadable)");
	return True;
}

uint32_t comm_region_marked(uint32_t parent, uint64_t name)
{
	UWord key = (UWord)parent << PARENT_SHIFT | name;
	HChar text[COMM_REGION_BYTES];
	struct known *known;
	UInt id;

	if (parent == COMM_REGION_OTHER || name >> PARENT_SHIFT)
		return COMM_REGION_OTHER;
	known = VG_(HT_lookup)(known_marks, key);
	if (known)
		return known->id;
	if (comm_array_count(&regions) == COMM_REGIONS_MAX || !comm_region_read_name(name, text))
		return COMM_REGION_OTHER;
	id = comm_region_add(parent, comm_text_keep(text));
	known = VG_(malloc)("comm.known_mark", sizeof(*known));
	*known = (struct known){{NULL, key}, id};
	VG_(HT_add_node)(known_marks, known);
	return id;
}

UInt comm_region_count(void)
{
	return comm_array_count(&regions);
}

const struct comm_vg_region *comm_region_get(UInt id)
{
	return comm_array_at(&regions, id);
}
