/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The census by nodes: how much of what each node of a report reads it reads while it waits, and how
 * soon the rest changes.  Summed while an aggregate takes slices, if its query asks for it.
 *
 * Shares are ratios of Horvitz and Thompson's sums.  Words that were looked at for a shorter time
 * than a lag, as those of a run's end, count for as long as they were looked at (Kaplan and Meier,
 * JASA 53, 1958).  Intervals are Wilson's (origin_mix.h has the source), of as many equal words as
 * the weighted ones are worth (Kish, Survey Sampling, 1965), by Greenwood's variance.  Shares that nodes mix are
 * as much wider as their weights err by the model of time.
 */
#ifndef COMM_CENSUS_NODES_H
#define COMM_CENSUS_NODES_H

#include <stdbool.h>

#include <sqlite3.h>

#include "census.h"
#include "grouping.h"
#include "row_filter.h"
#include "slices.h"

/*
 * By how much what code of one kind weighs errs by the model of its time, apart from other code: the standard deviation of
 * its natural logarithm.  docs/method/survey-measured.md has what 90 % intervals hold with it.
 */
#define COMM_WEIGHT_SD 0.8

struct comm_census_node {
	uint32_t id, is_all; /* a node of the aggregate's own grouping; or of all of them */
	struct {
		uint64_t words;
		double bytes, squares;
	} class[COMM_CENSUS_CLASSES];
};

struct comm_census_nodes {
	sqlite3_stmt *ask; /* for the rows of a slice; NULL: nobody asks */
	COMM_KEYED(keyed, struct comm_census_node, node, n);
};

/* Has the run a census at all? */
bool comm_census_is_told(sqlite3 *db, int64_t run);
int comm_census_nodes_init(struct comm_census_nodes *census, sqlite3 *db, int64_t run);
/* A zeroed one is closed. */
void comm_census_nodes_deinit(struct comm_census_nodes *census);
/* Takes the rows of the slice that was begun last. */
int comm_census_nodes_slice(struct comm_census_nodes *census, struct comm_grouping_use *own,
			    const struct comm_filter *filter, const struct comm_slices_one *slice);
/* The shares of one node, of which whole is the sum of all. */
void comm_census_shares(const struct comm_census_node *node, const struct comm_census_node *whole,
			double z, struct comm_report_census *ret);
/* Likewise: widens the intervals of the rows, one of each node, by what code weighs falsely. */
void comm_census_widen(const struct comm_census_nodes *census, struct comm_report_census *rows,
		       double z);

#endif
