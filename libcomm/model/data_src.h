/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a load found its data, as a PMU tells (comm_precise.data_src, perf's union
 * perf_mem_data_src): as far as it bears on who talks to whom.  Zen 3 tells no
 * modified lines, and IBS none of stores.
 */
#ifndef COMM_DATA_SRC_H
#define COMM_DATA_SRC_H

#include <stdint.h>

enum comm_data_from {
	COMM_FROM_UNKNOWN,
	COMM_FROM_OWN,		   /* L1, L2 or a fill buffer of the core itself */
	COMM_FROM_SHARED,	   /* a cache that cores share, or another's, unmodified */
	COMM_FROM_MODIFIED,	   /* another core of the socket had written the line: HITM */
	COMM_FROM_REMOTE,	   /* another socket: its caches or its memory */
	COMM_FROM_REMOTE_MODIFIED, /* and it had written the line */
	COMM_FROM_MEMORY,
	COMM_FROM_MAX
};

enum comm_data_from comm_data_from(uint64_t data_src);
/* "modified" */
const char *comm_data_from_name(enum comm_data_from from);

#endif
