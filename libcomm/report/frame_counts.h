/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame counts: how many of a run's frames (frame.h) began in each of its slices.  Frames are counted
 * from the first one that was seen to begin; of several processes, those of the one that began most.
 */
#ifndef COMM_FRAME_COUNTS_H
#define COMM_FRAME_COUNTS_H

#include "slices.h"

/* One for each slice, of wide ones as of those within them.  0 or -errno; the caller frees *ret. */
int comm_frame_counts_load(sqlite3 *db, int64_t run, const struct comm_slices *slices,
			   uint64_t **ret);

#endif
