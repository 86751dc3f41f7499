/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "marks.h"

void comm_marks_forget(struct comm_tool_marks *marks, uint32_t n)
{
	if (marks->n_regions > n)
		marks->n_regions = n;
}

/* Of marks within as many others the last that has a place stands for all: as a sample sees it. */
void comm_marks_told(struct comm_tool_marks *marks, uint64_t offset, uint64_t value)
{
	uint64_t i = offset / sizeof(value);

	if (!i) {
		marks->depth = value < COMM_MARKS_DEPTH ? value : COMM_MARKS_DEPTH;
	} else if (i <= COMM_MARKS_DEPTH) {
		marks->name[i - 1] = value;
		comm_marks_forget(marks, i - 1);
	}
}

uint32_t comm_marks_region(struct comm_tool_marks *marks, uint32_t n, uint32_t base,
			   comm_marks_region_fn *region_of)
{
	uint32_t region = base;

	for (uint32_t i = n; i < marks->depth; i++) {
		if (i < marks->n_regions) {
			region = marks->region[i];
			continue;
		}
		region = region_of(region, marks->name[i]);
		/* Those of outer marks may be of older names: then this one is not kept either. */
		if (i == marks->n_regions)
			marks->region[marks->n_regions++] = region;
	}
	return region;
}
