/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stored slices: a slice of a run with the ids of the store in place of the run's, each key once and
 * no more rows than may be stored, as rows.h takes it.  Used by store.c alone, inside its
 * transactions.
 */
#ifndef COMM_STORED_SLICE_H
#define COMM_STORED_SLICE_H

#include "dated.h"
#include "dictionary.h"
#include "edge_table.h"

/* A zeroed one is empty; the tables are kept from slice to slice, as memory. */
struct comm_stored_slice {
	struct comm_slice_info info;  /* with the cells folded here as losses, and these tables: */
	struct comm_edge_table cells; /* whose sites are contexts */
	struct comm_placements placements;
	struct comm_census census;
	struct comm_origins origins;
	struct comm_unwritten_ends unwritten, written, lengths;
	struct comm_dates dates;
	struct comm_counts counts;
	struct comm_cachelines cachelines;
};

/*
 * Makes it out of a slice of the run, whose names go into the dictionary; at most row_cap rows of
 * a kind stay.  Values that are not finite become 0.
 */
int comm_stored_slice_make(struct comm_stored_slice *slice, struct comm_dictionary *dict,
			   const struct comm_naming *naming, uint32_t row_cap,
			   const struct comm_slice_info *info, const struct comm_edge *edges,
			   size_t n_edges);
void comm_stored_slice_deinit(struct comm_stored_slice *slice);

#endif
