// SPDX-License-Identifier: GPL-2.0-or-later
#include "kept_rows.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEPT_SLICES = 4096, /* ids follow each other: those of a range are in places of their own */
	KEPT_ROWS_FIRST = 64,
	/* What follows a run asks in turn for a window of time and for the one before. */
	KEPT_REPORTS = 2,
};

static void forget(struct comm_kept_rows *kept)
{
	for (size_t i = 0; kept->slice && i < KEPT_SLICES; i++)
		comm_kept_rows_drop(kept, &kept->slice[i]);
}

void comm_kept_rows_deinit(struct comm_kept_rows *kept)
{
	forget(kept);
	free(kept->slice);
	memset(kept, 0, sizeof(*kept));
}

void comm_kept_rows_begin(struct comm_kept_rows *kept, enum comm_kept_bytes bytes)
{
	if (kept->bytes != bytes)
		forget(kept);
	kept->bytes = bytes;
	kept->report++;
}

static struct comm_kept_slice *place_of(const struct comm_kept_rows *kept, int64_t id)
{
	return &kept->slice[(uint64_t)id % KEPT_SLICES];
}

const struct comm_kept_slice *comm_kept_rows_find(struct comm_kept_rows *kept, int64_t run,
						  int64_t id)
{
	struct comm_kept_slice *slice;

	if (!kept->slice)
		return NULL;
	slice = place_of(kept, id);
	if (!slice->used || slice->run != run || slice->id != id)
		return NULL;
	slice->used = kept->report;
	return slice;
}

struct comm_kept_slice *comm_kept_rows_new(struct comm_kept_rows *kept, int64_t run, int64_t id)
{
	struct comm_kept_slice *slice;

	/* Who asks once, for one window or two, shall not pay for keeping. */
	if (kept->report <= KEPT_REPORTS)
		return NULL;
	if (!kept->slice)
		kept->slice = calloc(KEPT_SLICES, sizeof(*kept->slice));
	if (!kept->slice)
		return NULL;
	slice = place_of(kept, id);
	comm_kept_rows_drop(kept, slice);
	slice->run = run;
	slice->id = id;
	slice->used = kept->report;
	return slice;
}

/* Forgets the slices that the last reports had no use for. */
static void evict(struct comm_kept_rows *kept)
{
	for (size_t i = 0; i < KEPT_SLICES; i++)
		if (kept->slice[i].used + KEPT_REPORTS < kept->report)
			comm_kept_rows_drop(kept, &kept->slice[i]);
}

static bool grow(struct comm_kept_rows *kept, struct comm_kept_slice *slice)
{
	size_t capacity = slice->capacity ? 2 * slice->capacity : KEPT_ROWS_FIRST,
	       more = capacity - slice->capacity;
	struct comm_kept_row *grown;

	if (kept->capacity + more > COMM_KEPT_ROWS_MAX)
		evict(kept);
	if (kept->capacity + more > COMM_KEPT_ROWS_MAX)
		return false;
	grown = reallocarray(slice->row, capacity, sizeof(*grown));
	if (!grown)
		return false;
	slice->row = grown;
	slice->capacity = capacity;
	kept->capacity += more;
	return true;
}

bool comm_kept_rows_add(struct comm_kept_rows *kept, struct comm_kept_slice *slice,
			const struct comm_edge *row)
{
	if (slice->n == slice->capacity && !grow(kept, slice)) {
		comm_kept_rows_drop(kept, slice);
		return false;
	}
	slice->row[slice->n++] = (struct comm_kept_row){
		.src_thread = row->src_thread,
		.src_site = row->src_site,
		.dst_thread = row->dst_thread,
		.dst_site = row->dst_site,
		.object = row->object,
		.bursts = row->bursts,
		.level = row->level,
		.bytes = row->bytes,
		.variance = row->variance,
		.drawn_variance = row->drawn_variance,
		.doubts = row->doubts,
	};
	return true;
}

void comm_kept_rows_drop(struct comm_kept_rows *kept, struct comm_kept_slice *slice)
{
	kept->capacity -= slice->capacity;
	free(slice->row);
	memset(slice, 0, sizeof(*slice));
}
