/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open slice: what the engine has of the time since the last slice, counts, losses and where
 * threads ran, and the edges that it gets when it is closed.  Bounded: what does not fit is summed
 * and counted as lost.  Knows nothing of estimators and of the store's tables.
 */
#ifndef COMM_OPEN_SLICE_H
#define COMM_OPEN_SLICE_H

#include "cacheline.h"
#include "census.h"
#include "count.h"
#include "edge.h"
#include "event.h"
#include "origin.h"
#include "placement.h"
#include "store.h"

struct comm_open_slice {
	struct comm_slice_info info; /* points to what is below once it is closed */
	struct comm_placements placements;
	struct comm_origins origins;
	struct comm_cachelines cachelines;
	struct comm_census census;
	struct comm_counts counts;
	struct comm_unwritten_ends lengths;
	/* Of all slices so far. */
	char counter[COMM_COUNTERS_MAX][COMM_COUNTER_BYTES];
	const char *counter_at[COMM_COUNTERS_MAX];
	uint32_t n_counters;
	uint64_t all_losses[COMM_LOSS_MAX];
	struct comm_edge *edges; /* always has room for rest at the end */
	size_t n_edges, edges_capacity;
	struct comm_edge rest; /* sum of the edges that did not fit */
};

/* Of a zeroed one.  -ENOMEM. */
int comm_open_slice_init(struct comm_open_slice *slice);
void comm_open_slice_deinit(struct comm_open_slice *slice);

static inline void comm_open_slice_lose(struct comm_open_slice *slice, enum comm_loss cause,
					uint64_t count)
{
	slice->info.loss[cause] += count;
	slice->all_losses[cause] += count;
}

/* Adds to a counter, by its name. */
void comm_open_slice_count(struct comm_open_slice *slice, const char *counter,
			   struct comm_count count);
/* Where a load found its data, which stands for so many loads. */
void comm_open_slice_load(struct comm_open_slice *slice, const struct comm_precise *load,
			  uint32_t thread, uint32_t site, uint32_t object, double loads);

/* So much of a counter, by its name, fell to an end.  A slice has lengths by the counter that came first. */
void comm_open_slice_length(struct comm_open_slice *slice, const char *counter, uint32_t thread,
			    uint32_t site, double amount);
/* A word of the census. */
void comm_open_slice_census(struct comm_open_slice *slice, const struct comm_census_words *words);

/* It ends: edges come from now on, by comm_open_slice_edge(), a comm_edge_fn with the slice as ctx. */
void comm_open_slice_end(struct comm_open_slice *slice, uint64_t start_ns, uint64_t end_ns);
void comm_open_slice_edge(void *slice, const struct comm_edge *edge);
/* All is there: info and edges are ready to be read. */
void comm_open_slice_close(struct comm_open_slice *slice);
/* Begins the next, with the losses of the last one unless that was stored. */
void comm_open_slice_next(struct comm_open_slice *slice, bool stored);

#endif
