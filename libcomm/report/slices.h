/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slices of a run, and the cover: few that span a range of time, each instant once,
 * wide slices where they fit and narrow ones at the ends (schema.c tells how levels
 * nest).
 */
#ifndef COMM_SLICES_H
#define COMM_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "strand.h"

struct comm_slices_one {
	int64_t id;
	uint64_t start_ns, end_ns;
	uint64_t samples, bursts, accesses;
	uint64_t handler_ns, daemon_ns, daemon_idle_ns, setup_ns, target_ns, edges;
	uint64_t enabled_ns; /* of its time; the user had sampling disabled in the rest */
	double unwritten_bytes, unwritten_first_bytes;
	double polled_bytes; /* of unwritten_bytes */
	double crossing_bytes, crossing_first_bytes;
	uint64_t watches;
	double unanswered_bytes;
	/* In how many parts it was dealt out to strands, and these; 0: in none. */
	uint64_t parts;
	double enabled_share[COMM_STRANDS], unwritten_share[COMM_STRANDS];
	bool taken; /* is part of the cover */
	bool leaf;  /* no narrower slice of its time is in the store */
};

struct comm_slices {
	struct comm_slices_one *slice; /* ordered by start, wider ones first */
	size_t n;
};

/*
 * from_ns, to_ns: CLOCK_MONOTONIC, the end exclusive; the range grows to whole slices.
 * The cover has no slice wider than max_ns where the store has narrower ones.  Where strands will
 * do, a slice counts as no wider than its parts are on average; else it has none.
 */
int comm_slices_load(sqlite3 *db, int64_t run, uint64_t from_ns, uint64_t to_ns, uint64_t max_ns,
		     bool strands, struct comm_slices *ret);
void comm_slices_deinit(struct comm_slices *slices);

/* How long after start_ns, the run's; a store may be hostile: nothing is before it. */
static inline uint64_t comm_slices_since(uint64_t at_ns, uint64_t start_ns)
{
	return at_ns > start_ns ? at_ns - start_ns : 0;
}

#endif
