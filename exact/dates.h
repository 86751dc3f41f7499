/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dates: of what is read in a slice, the bytes that were written in earlier ones, by these.  The rest of a cell's bytes
 * is written in the slice in which it is read.  Slices are told by when they began, by the clock of the shadow; all
 * processes that came from one by fork() have them in common.  One thread at a time.
 */
#ifndef COMM_EXACT_DATES_H
#define COMM_EXACT_DATES_H

#include <stdint.h>

#include "table.h"

enum {
	COMM_TOOL_DATES_SLICES = 1 << 20,
	/* Once there are as many, all is of a time not known but what a cell of the other table still points to. */
	COMM_TOOL_DATES_CELLS = 1 << 20,
};

struct comm_tool_dates_slices {
	uint32_t n;
	uint64_t start_ns[COMM_TOOL_DATES_SLICES];
};

struct comm_tool_dates {
	struct comm_tool_dates_slices *slices; /* on memory that all processes have */
	/* Of each pair: writer is the number of a cell of the other table, reader the slice, or COMM_EXACT_NO_PHASE. */
	struct comm_table table;
	uint32_t last; /* slice that was found last */
};

void comm_tool_dates_init(struct comm_tool_dates *dates);
void comm_tool_dates_deinit(struct comm_tool_dates *dates);
/* In a child of fork(): no pair is its own. */
void comm_tool_dates_forked(struct comm_tool_dates *dates);

/* Slice i begins; those from there on are forgotten.  From too many on all is of a time not known. */
void comm_tool_dates_begin(struct comm_tool_dates *dates, uint32_t i, uint64_t now_ns);

/* What was written before is of an earlier slice. */
static inline uint64_t comm_tool_dates_since_ns(const struct comm_tool_dates *dates)
{
	uint32_t n = __atomic_load_n(&dates->slices->n, __ATOMIC_ACQUIRE);

	return n > COMM_TOOL_DATES_SLICES ? UINT64_MAX : n ? dates->slices->start_ns[n - 1] : 0;
}

/* Of that cell, by its number in its table.  Those that are written in the same slice count without it, as the cell says. */
void comm_tool_dates_count(struct comm_tool_dates *dates, struct comm_tool_cell *cell, uint32_t i,
			   uint64_t written_ns, uint64_t bytes);
/* Slices are others from now on (comm_tool_dates_begin() of an earlier one): no cell of that table says where. */
void comm_tool_dates_forget(struct comm_table *table);

#endif
