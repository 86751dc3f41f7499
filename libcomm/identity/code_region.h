/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code regions: dense ids for the parts of its work that a program marked (<comm/mark.h>).  A region
 * is a name within another region; ids are never reused in a run.  COMM_CODE_REGION_NONE and
 * COMM_CODE_REGION_OTHER are the first ones, the latter for new regions past COMM_CODE_REGIONS_MAX, which
 * are counted.  Where a thread's regions stand is marks.h's.
 */
#ifndef COMM_CODE_REGION_H
#define COMM_CODE_REGION_H

#include "event.h"
#include "ids.h"
#include "space.h"

struct comm_code_regions;

int comm_code_regions_create(const struct comm_inspect *inspect, struct comm_code_regions **ret);
void comm_code_regions_destroy(struct comm_code_regions *regions);

/* The innermost of these regions of a thread in the process of space. */
uint32_t comm_code_regions_get(struct comm_code_regions *regions, struct comm_space *space,
			       const struct comm_marks *marks, uint64_t now_ns);

/* From now on the region between probes of that id has this name. */
void comm_code_regions_probed(struct comm_code_regions *regions, uint32_t id, const char *name);

/*
 * The name that a word of marks stands for, the address of a text or of code, or the id
 * of a region between probes: "(unreadable)" at worst, "(region not known)" for COMM_MARK_NOT_KNOWN.  Of code whose file is still being read the name may lack the line for now.
 */
const char *comm_code_regions_name(struct comm_code_regions *regions, struct comm_space *space,
				   uint64_t word, uint64_t now_ns);

/* How often a region became "(other)" because the ids had run out. */
uint64_t comm_code_regions_unfiled(const struct comm_code_regions *regions);
uint32_t comm_code_regions_count(const struct comm_code_regions *regions);
/* Until the next get(). */
const struct comm_code_region *comm_code_regions_at(const struct comm_code_regions *regions,
						    uint32_t id);

#endif
