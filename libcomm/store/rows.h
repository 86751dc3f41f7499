/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows: the prepared statements that write a slice of any level to a store or
 * delete it.  The caller has a transaction open.
 */
#ifndef COMM_ROWS_H
#define COMM_ROWS_H

#include <sqlite3.h>

#include "store.h"

struct comm_rows {
	sqlite3 *db;
	sqlite3_stmt *put_slice, *put_edge, *put_loss, *put_placement, *put_origin, *put_unwritten,
		*put_written, *put_length, *put_count;
	sqlite3_stmt *put_cacheline, *put_cacheline_use, *drop_cachelines, *drop_cacheline_uses;
	sqlite3_stmt *put_census, *drop_census;
	sqlite3_stmt *drop_slice, *drop_edges, *drop_losses, *drop_placements, *drop_origins,
		*drop_unwritten, *drop_written, *drop_lengths, *drop_counts;
};

int comm_rows_init(struct comm_rows *rows, sqlite3 *db);
void comm_rows_deinit(struct comm_rows *rows);

/*
 * Edges must differ in their key; in order of key they go in fastest.  Their
 * src_site and dst_site, and the site of origins, of unwritten reads, of writes, of uses of lines and of the census, hold contexts of the store
 * (dictionary.h), and counts its regions and counters.
 */
int comm_rows_put(struct comm_rows *rows, int64_t run, int level,
		  const struct comm_slice_info *info, const struct comm_edge *edges, size_t n,
		  int64_t *ret_slice);
/* Deletes a slice with its edges and other rows; returns edges deleted. */
int64_t comm_rows_drop(struct comm_rows *rows, int64_t run, int64_t slice);

#endif
