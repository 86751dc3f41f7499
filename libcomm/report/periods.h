/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Periods: a run's time in a few pieces, one after the other.  Phases are found in what was
 * stored: where it changes which thread reads which share of all from which other one
 * (change_points.h).  Or pieces are of equal length, whatever the program did, or of equally many of
 * its frames (frame.h).
 */
#ifndef COMM_PERIODS_H
#define COMM_PERIODS_H

#include "reader.h"
#include "slices.h"

enum {
	COMM_PERIODS_MAX = 64,
	COMM_PERIODS_USUAL = 16, /* at most, where nobody says how long they are */
};

/* How often a run that is steady is said to have more than one phase. */
#define COMM_PERIODS_FALSE_ALARM 0.01

struct comm_periods {
	size_t n;
	/* CLOCK_MONOTONIC; each lasts until the next begins, the last until end_ns. */
	uint64_t start_ns[COMM_PERIODS_MAX];
	uint64_t end_ns;
	/* Where pieces are of frames: all of them, and so many of each piece but the last. */
	uint64_t frames, each_frames;
};

/*
 * Loads slices that are narrow enough to tell periods apart, but not more than can be looked at
 * in a moment.
 */
int comm_periods_slices(sqlite3 *db, int64_t run, uint64_t from_ns, uint64_t to_ns,
			struct comm_slices *ret);

int comm_periods_find(struct comm_reader *reader, const struct comm_run *run,
		      struct comm_periods *ret);
/* Each of piece_ns; 0: as many as usual.  False: there would be too many. */
bool comm_periods_equal(const struct comm_run *run, uint64_t piece_ns, struct comm_periods *ret);

/*
 * Frames as frame_counts.h has them.  Where in its slice one began is not stored: as if all were
 * equally long.
 */
int comm_periods_frames(struct comm_reader *reader, const struct comm_run *run,
			struct comm_periods *ret);

/* The period of an instant; the first one or the last one of what is outside of all. */
size_t comm_periods_at(const struct comm_periods *periods, uint64_t time_ns);
uint64_t comm_periods_end_ns(const struct comm_periods *periods, size_t i);

#endif
