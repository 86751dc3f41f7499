/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of calls (--callers): a function within another path; and places, each a marked region in a path.  As long
 * as nobody asked for callers a place is a region.  What a path is within has a lower number.
 *
 * Numbers are dense, and all processes that came from one by fork() have them in common.  Any thread may ask at any
 * time.
 */
#ifndef COMM_EXACT_TSAN_PATH_H
#define COMM_EXACT_TSAN_PATH_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	COMM_EXACT_PATHS_MAX =
		1 << 16, /* and places: what there is room for beside an instruction's address */
};

/* Paths: nobody knows who called, and nobody did. */
enum { COMM_EXACT_PATH_UNKNOWN, COMM_EXACT_PATH_OUTERMOST, COMM_EXACT_PATH_FIRST };

struct comm_exact_path {
	uint32_t parent, function; /* call.h */
};

struct comm_exact_place {
	uint32_t region, path;
};

/* Somebody asked for callers. */
void comm_exact_paths_init(void);
/* COMM_EXACT_PATH_UNKNOWN: there are too many. */
uint32_t comm_exact_path_within(uint32_t parent, uint32_t function);
/* 0: nobody asked. */
uint32_t comm_exact_path_count(void);
struct comm_exact_path comm_exact_path_get(uint32_t path);

/* That of the region "(other)" in no path: there are too many. */
uint32_t comm_exact_place(struct comm_exact_place of);
struct comm_exact_place comm_exact_place_at(uint32_t place);

#pragma GCC visibility pop

#endif
