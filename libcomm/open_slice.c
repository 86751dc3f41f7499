// SPDX-License-Identifier: GPL-2.0-or-later
#include "open_slice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_src.h"

enum {
	EDGES_MIN = 1024,
	EDGES_MAX = 1 << 18,   /* the rest is summed in an edge (other) -> (other) */
	ORIGINS_MAX = 1 << 16, /* reading ends; then half of them are folded */
	CENSUS_MAX = 1 << 16,  /* cells; likewise */
	LENGTHS_MAX = 1 << 16, /* ends; likewise */
};

int comm_open_slice_init(struct comm_open_slice *slice)
{
	slice->edges = calloc(EDGES_MIN, sizeof(*slice->edges));
	slice->edges_capacity = EDGES_MIN;
	return slice->edges ? 0 : -ENOMEM;
}

void comm_open_slice_deinit(struct comm_open_slice *slice)
{
	comm_placements_deinit(&slice->placements);
	comm_origins_deinit(&slice->origins);
	comm_counts_deinit(&slice->counts);
	comm_unwritten_ends_deinit(&slice->lengths);
	comm_cachelines_deinit(&slice->cachelines);
	comm_census_deinit(&slice->census);
	free(slice->edges);
}

/* COMM_COUNTERS_MAX: there are too many. */
static uint32_t counter_named(struct comm_open_slice *slice, const char *name)
{
	uint32_t i;

	for (i = 0; i < slice->n_counters; i++)
		if (!strcmp(slice->counter[i], name))
			return i;
	if (i < COMM_COUNTERS_MAX) {
		snprintf(slice->counter[i], COMM_COUNTER_BYTES, "%s", name);
		slice->counter_at[i] = slice->counter[i];
		slice->n_counters++;
	}
	return i;
}

void comm_open_slice_count(struct comm_open_slice *slice, const char *counter,
			   struct comm_count count)
{
	count.counter = counter_named(slice, counter);
	if (count.counter >= COMM_COUNTERS_MAX || comm_counts_add(&slice->counts, &count))
		comm_open_slice_lose(slice, COMM_LOSS_COUNTS, 1);
}

void comm_open_slice_load(struct comm_open_slice *slice, const struct comm_precise *load,
			  uint32_t thread, uint32_t site, uint32_t object, double loads)
{
	struct comm_origins *origins = &slice->origins;
	struct comm_origin_sums *sums;
	uint64_t folded = 0;
	size_t at;

	if (origins->n >= ORIGINS_MAX)
		comm_origins_fold(origins, ORIGINS_MAX / 2, &folded);
	comm_open_slice_lose(slice, COMM_LOSS_CELLS, folded);
	if (comm_origins_at(origins, thread, site, object, &at)) {
		comm_open_slice_lose(slice, COMM_LOSS_CELLS, 1);
		return;
	}
	sums = &origins->origin[at].from[comm_data_from(load->data_src)];
	sums->samples++;
	sums->loads += loads;
	if (load->latency_cycles) {
		sums->timed_loads += loads;
		sums->timed_cycles += loads * load->latency_cycles;
	}
}

void comm_open_slice_length(struct comm_open_slice *slice, const char *counter, uint32_t thread,
			    uint32_t site, double amount)
{
	const struct comm_unwritten_end end = {.thread = thread, .site = site, .bytes = amount};
	struct comm_unwritten_ends *lengths = &slice->lengths;
	uint32_t id = counter_named(slice, counter);
	uint64_t folded = 0;

	if (lengths->n >= LENGTHS_MAX)
		comm_unwritten_ends_fold(lengths, LENGTHS_MAX / 2, &folded);
	comm_open_slice_lose(slice, COMM_LOSS_CELLS, folded);
	if (!lengths->n)
		slice->info.lengths.counter = id;
	if (id >= COMM_COUNTERS_MAX || id != slice->info.lengths.counter ||
	    comm_unwritten_ends_add(lengths, &end))
		comm_open_slice_lose(slice, COMM_LOSS_COUNTS, 1);
}

void comm_open_slice_census(struct comm_open_slice *slice, const struct comm_census_words *words)
{
	struct comm_census *census = &slice->census;
	uint64_t folded = 0;

	if (census->n >= CENSUS_MAX)
		comm_census_fold(census, CENSUS_MAX / 2, &folded);
	comm_open_slice_lose(slice, COMM_LOSS_CELLS, folded);
	if (comm_census_add(census, words))
		comm_open_slice_lose(slice, COMM_LOSS_CELLS, 1);
}

void comm_open_slice_end(struct comm_open_slice *slice, uint64_t start_ns, uint64_t end_ns)
{
	slice->info.start_ns = start_ns;
	slice->info.end_ns = end_ns;
	slice->n_edges = 0;
	slice->rest = (struct comm_edge){0};
}

/* Makes room for one more edge, and for rest behind it. */
static bool reserve(struct comm_open_slice *slice)
{
	size_t capacity = 2 * slice->edges_capacity;
	struct comm_edge *edges;

	if (slice->n_edges + 1 < slice->edges_capacity)
		return true;
	edges = capacity > EDGES_MAX ? NULL : realloc(slice->edges, capacity * sizeof(*edges));
	if (!edges)
		return false;
	slice->edges = edges;
	slice->edges_capacity = capacity;
	return true;
}

void comm_open_slice_edge(void *ctx, const struct comm_edge *edge)
{
	struct comm_open_slice *slice = ctx;
	struct comm_edge *rest = &slice->rest;

	if (reserve(slice)) {
		slice->edges[slice->n_edges++] = *edge;
		return;
	}
	comm_open_slice_lose(slice, COMM_LOSS_CELLS, 1);
	rest->bytes += edge->bytes;
	rest->variance += edge->variance;
	rest->first_bytes += edge->first_bytes;
	rest->first_variance += edge->first_variance;
	comm_doubts_add(&rest->doubts, &edge->doubts, 1);
	rest->watched_bytes += edge->watched_bytes;
	rest->watched_variance += edge->watched_variance;
	comm_ages_add(&rest->ages, &edge->ages, 1);
	rest->bursts += edge->bursts;
	if (edge->level > rest->level)
		rest->level = edge->level;
}

void comm_open_slice_close(struct comm_open_slice *slice)
{
	struct comm_slice_info *info = &slice->info;
	const struct comm_edge *rest = &slice->rest;

	if (rest->bursts || rest->bytes > 0 || rest->watched_bytes > 0)
		slice->edges[slice->n_edges++] = *rest;
	info->placement = slice->placements.placement;
	info->n_placements = slice->placements.n;
	info->origin = slice->origins.origin;
	info->n_origins = slice->origins.n;
	info->count = slice->counts.count;
	info->n_counts = slice->counts.n;
	comm_unwritten_ends_sort(&slice->lengths);
	info->lengths.end = slice->lengths.end;
	info->lengths.n_ends = slice->lengths.n;
	info->counter = slice->counter_at;
	info->n_counters = slice->n_counters;
	info->cachelines = &slice->cachelines;
	info->census = slice->census.cell;
	info->n_census = slice->census.n;
}

void comm_open_slice_next(struct comm_open_slice *slice, bool stored)
{
	struct comm_slice_info next = {0};

	if (!stored)
		memcpy(next.loss, slice->info.loss, sizeof(next.loss));
	slice->info = next;
	comm_placements_clear(&slice->placements);
	comm_origins_clear(&slice->origins);
	comm_counts_clear(&slice->counts);
	comm_unwritten_ends_clear(&slice->lengths);
	comm_cachelines_clear(&slice->cachelines);
	comm_census_clear(&slice->census);
}
