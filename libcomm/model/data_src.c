// SPDX-License-Identifier: GPL-2.0-or-later
#include "data_src.h"

#include <linux/perf_event.h>
#include <stdbool.h>

enum comm_data_from comm_data_from(uint64_t data_src)
{
	const union perf_mem_data_src src = {.val = data_src};
	uint64_t level = src.mem_lvl;
	/* Newer kernels say it by mem_remote and hops, older ones by the level alone. */
	bool remote = src.mem_remote || level & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2 |
						 PERF_MEM_LVL_REM_CCE2);

	/* Near caches of a socket's other cores are remote by name, with 0 hops. */
	if (src.mem_remote && src.mem_hops == PERF_MEM_HOPS_0)
		remote = false;
	if (src.mem_snoop & PERF_MEM_SNOOP_HITM)
		return remote ? COMM_FROM_REMOTE_MODIFIED : COMM_FROM_MODIFIED;
	if (!(level & PERF_MEM_LVL_HIT) && !src.mem_lvl_num)
		return COMM_FROM_UNKNOWN;
	if (remote)
		return COMM_FROM_REMOTE;
	if (level & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_LFB | PERF_MEM_LVL_L2))
		return COMM_FROM_OWN;
	if (level & (PERF_MEM_LVL_L3 | PERF_MEM_LVL_REM_CCE1))
		return COMM_FROM_SHARED;
	if (level & PERF_MEM_LVL_LOC_RAM)
		return COMM_FROM_MEMORY;
	switch (src.mem_lvl_num) {
	case PERF_MEM_LVLNUM_L1:
	case PERF_MEM_LVLNUM_L2:
	case PERF_MEM_LVLNUM_LFB:
		return COMM_FROM_OWN;
	case PERF_MEM_LVLNUM_L3:
	case PERF_MEM_LVLNUM_L4:
	case PERF_MEM_LVLNUM_ANY_CACHE:
		return COMM_FROM_SHARED;
	case PERF_MEM_LVLNUM_RAM:
	case PERF_MEM_LVLNUM_PMEM:
		return COMM_FROM_MEMORY;
	default:
		return COMM_FROM_UNKNOWN;
	}
}

const char *comm_data_from_name(enum comm_data_from from)
{
	static const char *const name[COMM_FROM_MAX] = {
		[COMM_FROM_UNKNOWN] = "unknown", [COMM_FROM_OWN] = "own",
		[COMM_FROM_SHARED] = "shared",	 [COMM_FROM_MODIFIED] = "modified",
		[COMM_FROM_REMOTE] = "remote",	 [COMM_FROM_REMOTE_MODIFIED] = "remote_modified",
		[COMM_FROM_MEMORY] = "memory",
	};

	return (unsigned int)from < COMM_FROM_MAX ? name[from] : "unknown";
}
