/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placements: how many samples found a thread on a CPU.  The engine counts them
 * for a slice, the store sums them for wider ones, and a report can tell by them
 * which CPUs stand behind an edge.  One thread uses a table.
 */
#ifndef COMM_PLACEMENT_H
#define COMM_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "keyed.h"

struct comm_placement {
	uint32_t thread, cpu;
	uint64_t samples;
};

/* By thread and CPU. */
struct comm_placements {
	COMM_KEYED(keyed, struct comm_placement, placement, n);
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_placements_deinit(struct comm_placements *table);
void comm_placements_clear(struct comm_placements *table);
/* -ENOMEM. */
int comm_placements_add(struct comm_placements *table, uint32_t thread, uint32_t cpu,
			uint64_t samples);
/*
 * Keeps the cap that have most samples and adds the others to thread
 * COMM_ID_OTHER of their CPU, so at most cap and one for each CPU remain.
 * *ret_folded grows by those that lost their thread.
 */
void comm_placements_fold(struct comm_placements *table, size_t cap, uint64_t *ret_folded);
/* Orders by thread and CPU, cheapest for a B-tree. */
void comm_placements_sort(struct comm_placements *table);

#endif
