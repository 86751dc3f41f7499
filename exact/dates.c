/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dates.h"

#include "memory.h"

void comm_tool_dates_init(struct comm_tool_dates *dates)
{
	dates->slices = comm_mem_map_shared(sizeof(*dates->slices));
	dates->last = 0;
	comm_table_init(&dates->table);
}

void comm_tool_dates_deinit(struct comm_tool_dates *dates)
{
	comm_table_deinit(&dates->table);
	comm_mem_unmap(dates->slices, sizeof(*dates->slices));
}

void comm_tool_dates_forked(struct comm_tool_dates *dates)
{
	comm_table_forked(&dates->table);
}

void comm_tool_dates_begin(struct comm_tool_dates *dates, uint32_t i, uint64_t now_ns)
{
	if (i < COMM_TOOL_DATES_SLICES)
		dates->slices->start_ns[i] = now_ns;
	/* Partner: comm_tool_dates_since_ns(). */
	__atomic_store_n(&dates->slices->n,
			 i < COMM_TOOL_DATES_SLICES ? i + 1 : COMM_TOOL_DATES_SLICES + 1,
			 __ATOMIC_RELEASE);
}

static int is_in(const struct comm_tool_dates_slices *slices, uint32_t i, uint64_t written_ns)
{
	return i + 1 < slices->n && slices->start_ns[i] <= written_ns &&
	       written_ns < slices->start_ns[i + 1];
}

/* A slice that is over; COMM_EXACT_NO_PHASE: it was before the first, or there are too many. */
static uint32_t find(struct comm_tool_dates *dates, uint64_t written_ns)
{
	const struct comm_tool_dates_slices *slices = dates->slices;
	uint32_t low = 0, high = slices->n;

	if (is_in(slices, dates->last, written_ns))
		return dates->last;
	if (!high || high > COMM_TOOL_DATES_SLICES || written_ns < slices->start_ns[0])
		return COMM_EXACT_NO_PHASE;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (slices->start_ns[middle] <= written_ns)
			low = middle;
		else
			high = middle;
	}
	return dates->last = low;
}

void comm_tool_dates_count(struct comm_tool_dates *dates, struct comm_tool_cell *cell, uint32_t i,
			   uint64_t written_ns, uint64_t bytes)
{
	uint32_t slice = find(dates, written_ns);
	struct comm_tool_cell *date;

	if (comm_array_count(&dates->table.cells) >= COMM_TOOL_DATES_CELLS)
		slice = COMM_EXACT_NO_PHASE;
	date = comm_table_cell(&dates->table, i, slice, 0);
	date->bytes += bytes;
	if (slice == COMM_EXACT_NO_PHASE)
		return;
	cell->date = date;
	cell->date_ns = dates->slices->start_ns[slice];
	cell->date_length_ns = dates->slices->start_ns[slice + 1] - cell->date_ns;
}

void comm_tool_dates_forget(struct comm_table *table)
{
	uint32_t n = comm_array_count(&table->cells);

	for (uint32_t i = 1; i < n; i++)
		comm_table_at(table, i)->date_length_ns = 0;
}
