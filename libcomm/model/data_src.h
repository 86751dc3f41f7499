/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data sources: where a load found its data, as a PMU tells (comm_precise.data_src,
 * perf's union perf_mem_data_src), as far as it bears on who talks to whom.
 *
 * What a PMU can tell differs.  Intel's PEBS tells all of it of a load that its latency
 * event samples, and nothing of one that its counting events sample (precise_datala_hsw() in
 * the kernel's arch/x86/events/intel/ds.c).  AMD's IBS tells it of loads that missed
 * L2, without an unmodified line's core before Zen 4, and without modified lines on
 * Zen 3; "remote" is another node there, since it does not tell the socket
 * (perf_ibs_get_mem_lvl(), perf_ibs_get_mem_snoop() in amd/ibs.c).
 */
#ifndef COMM_DATA_SRC_H
#define COMM_DATA_SRC_H

#include <stdint.h>

/* Stores hold the names. */
enum comm_data_from {
	COMM_FROM_UNKNOWN,
	COMM_FROM_OWN,		   /* L1, L2 or a fill buffer of the core itself */
	COMM_FROM_L3,		   /* the cache that cores share */
	COMM_FROM_PEER,		   /* another core of the socket, which had not written the line */
	COMM_FROM_MODIFIED,	   /* another core of the socket, which had: HITM */
	COMM_FROM_REMOTE,	   /* a cache of another socket */
	COMM_FROM_REMOTE_MODIFIED, /* one of whose cores had written the line: HITM */
	COMM_FROM_MEMORY,
	COMM_FROM_REMOTE_MEMORY, /* of another socket */
	COMM_FROM_MAX
};

enum comm_data_from comm_data_from(uint64_t data_src);
/* "modified" */
const char *comm_data_from_name(enum comm_data_from from);
/* COMM_FROM_UNKNOWN where there is none of that name. */
enum comm_data_from comm_data_from_find(const char *name);

#endif
