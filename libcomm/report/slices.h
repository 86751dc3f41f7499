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

struct comm_slices_one {
	int64_t id;
	uint64_t start_ns, end_ns;
	uint64_t samples, bursts, accesses;
	uint64_t handler_ns, daemon_ns, setup_ns, target_ns, edges;
	double unwritten_bytes, unwritten_first_bytes;
	double crossing_bytes, crossing_first_bytes;
	bool taken; /* is part of the cover */
	bool leaf;  /* no narrower slice of its time is in the store */
};

struct comm_slices {
	struct comm_slices_one *slice; /* ordered by start, wider ones first */
	size_t n;
};

/*
 * from_ns, to_ns: CLOCK_MONOTONIC, the end exclusive; the range grows to whole slices.
 * The cover has no slice wider than max_ns where the store has narrower ones.
 */
int comm_slices_load(sqlite3 *db, int64_t run, uint64_t from_ns, uint64_t to_ns, uint64_t max_ns,
		     struct comm_slices *ret);
void comm_slices_deinit(struct comm_slices *slices);

#endif
