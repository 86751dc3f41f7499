/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it takes of the target's time that windows are open, hardly more for many than for one, and whether one more
 * can be paid.  Learned from what the open ones have cost.  Pure.
 */
#ifndef COMM_WINDOW_COST_H
#define COMM_WINDOW_COST_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing is learned yet. */
struct comm_window_cost {
	uint64_t turn_ns, seen_ns; /* at the last turn: now, and all that was spent */
	uint64_t open_until_ns;	   /* until then some window is open */
	double open_ns, spent_ns;  /* open, and spent meanwhile; what is old counts for less */
};

/* Any window was open since the last turn; spent_ns: by all of them up to now. */
void comm_window_cost_learn(struct comm_window_cost *cost, bool was_open, uint64_t now_ns,
			    uint64_t spent_ns);
/* A window of that length begins. */
void comm_window_cost_open(struct comm_window_cost *cost, uint64_t now_ns, uint64_t length_ns);
/* Is enough learned to say what one costs? */
bool comm_window_cost_known(const struct comm_window_cost *cost);
/* What it takes that windows are open for so long, ns; 0: it is not known. */
double comm_window_cost_of(const struct comm_window_cost *cost, uint64_t open_ns);
/* What a window of that length would take, beyond what those that are open will, ns. */
double comm_window_cost_more(const struct comm_window_cost *cost, uint64_t now_ns,
			     uint64_t length_ns);
/* For how long windows may be open for that much, or as those that are open will be, ns; INFINITY: it is not known. */
double comm_window_cost_length(const struct comm_window_cost *cost, uint64_t now_ns,
			       double most_ns);

#endif
