// SPDX-License-Identifier: GPL-2.0-or-later
#include "data_src.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

enum {
	/* Numbers of levels that came with Linux 6.11 and later, which older headers lack. */
	LVLNUM_L2_MHB = 5, /* a fill buffer between L2 and L3 */
	LVLNUM_MSC = 6,	   /* a cache on the memory's side */
	LVLNUM_L0 = 7,
};

/* Whether it came from another socket. */
static bool is_remote(union perf_mem_data_src src)
{
	/* What came from other cores of the socket is remote by name, with 0 hops. */
	if (src.mem_remote)
		return src.mem_hops != PERF_MEM_HOPS_0;
	/* Newer kernels say it by mem_remote and hops, older ones by the level alone. */
	return src.mem_lvl &
	       (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2 | PERF_MEM_LVL_REM_CCE2);
}

/* By the level's bits where they say it: beside these its number may be that of the miss. */
static enum comm_data_from by_level(uint64_t level)
{
	if (level & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_LFB | PERF_MEM_LVL_L2))
		return COMM_FROM_OWN;
	/* Zens before the fourth set both bits: the one or the other. */
	if (level & PERF_MEM_LVL_L3)
		return COMM_FROM_L3;
	if (level & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2))
		return COMM_FROM_PEER;
	if (level & (PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2))
		return COMM_FROM_MEMORY;
	return COMM_FROM_UNKNOWN;
}

static enum comm_data_from by_number(unsigned int number)
{
	switch (number) {
	case PERF_MEM_LVLNUM_L1:
	case PERF_MEM_LVLNUM_L2:
	case PERF_MEM_LVLNUM_LFB:
	case LVLNUM_L2_MHB:
	case LVLNUM_L0:
		return COMM_FROM_OWN;
	case PERF_MEM_LVLNUM_L3:
	case PERF_MEM_LVLNUM_L4:
	case PERF_MEM_LVLNUM_ANY_CACHE:
		return COMM_FROM_L3;
	case PERF_MEM_LVLNUM_RAM:
	case PERF_MEM_LVLNUM_PMEM:
	case PERF_MEM_LVLNUM_CXL:
	case LVLNUM_MSC:
		return COMM_FROM_MEMORY;
	default:
		return COMM_FROM_UNKNOWN;
	}
}

enum comm_data_from comm_data_from(uint64_t data_src)
{
	const union perf_mem_data_src src = {.val = data_src};
	bool remote = is_remote(src);
	enum comm_data_from from = COMM_FROM_UNKNOWN;

	if (src.mem_snoop & PERF_MEM_SNOOP_HITM)
		return remote ? COMM_FROM_REMOTE_MODIFIED : COMM_FROM_MODIFIED;
	if (src.mem_lvl & PERF_MEM_LVL_HIT)
		from = by_level(src.mem_lvl);
	if (from == COMM_FROM_UNKNOWN && !(src.mem_lvl & PERF_MEM_LVL_MISS))
		from = by_number(src.mem_lvl_num);
	/* Not the core's own, whatever level of the other core it is called by. */
	if (src.mem_remote && !remote && (from == COMM_FROM_OWN || from == COMM_FROM_L3))
		return COMM_FROM_PEER;
	/* What a cache forwards does not come from what lies behind it. */
	if (from == COMM_FROM_MEMORY && src.mem_snoopx)
		from = COMM_FROM_PEER;
	if (from == COMM_FROM_L3 && (src.mem_snoopx || src.mem_snoop & PERF_MEM_SNOOP_HIT))
		from = COMM_FROM_PEER;
	if (!remote || from == COMM_FROM_UNKNOWN)
		return from;
	return from == COMM_FROM_MEMORY ? COMM_FROM_REMOTE_MEMORY : COMM_FROM_REMOTE;
}

static const char *const names[COMM_FROM_MAX] = {
	[COMM_FROM_UNKNOWN] = "unknown",
	[COMM_FROM_OWN] = "own",
	[COMM_FROM_L3] = "l3",
	[COMM_FROM_PEER] = "peer",
	[COMM_FROM_MODIFIED] = "modified",
	[COMM_FROM_REMOTE] = "remote_cache",
	[COMM_FROM_REMOTE_MODIFIED] = "remote_modified",
	[COMM_FROM_MEMORY] = "memory",
	[COMM_FROM_REMOTE_MEMORY] = "remote_memory",
};

const char *comm_data_from_name(enum comm_data_from from)
{
	return (unsigned int)from < COMM_FROM_MAX ? names[from] : names[COMM_FROM_UNKNOWN];
}

enum comm_data_from comm_data_from_find(const char *name)
{
	for (int i = 0; i < COMM_FROM_MAX; i++)
		if (!strcmp(names[i], name))
			return (enum comm_data_from)i;
	return COMM_FROM_UNKNOWN;
}
