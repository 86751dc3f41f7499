/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nest: regions of memory one inside the other, from 8 B (a datum of the
 * granularity) by factors of eight to 16 MiB, then the object; no region crosses an object.
 * Each knows how many bursts read it and, per thread, how many wrote it: a burst
 * votes once in a region, however often it writes there.
 *
 * Bounded: what was not used for longest is forgotten, and counted.
 */
#ifndef COMM_NEST_H
#define COMM_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include "constants.h"

enum {
	COMM_NEST_LINE = 1,
	COMM_NEST_OBJECT = 8,
	COMM_NEST_LEVELS,
};

struct comm_nest;

struct comm_nest_voter {
	uint32_t thread, site;
	uint32_t level;		       /* the finest at which it has a vote */
	float votes[COMM_NEST_LEVELS]; /* bursts that wrote the region */
};

/* What is known of all regions around a datum. */
struct comm_nest_view {
	float votes[COMM_NEST_LEVELS];	     /* of all voters */
	float reads[COMM_NEST_LEVELS];	     /* bursts that read it */
	float writes[COMM_NEST_LEVELS];	     /* bursts that wrote it */
	uint64_t first_ns[COMM_NEST_LEVELS]; /* when it was first seen to be read */
	uint32_t n;
	struct comm_nest_voter voter[OWNERSHIP_CANDIDATES];
};

int comm_nest_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_nest **ret);
void comm_nest_destroy(struct comm_nest *nest);

/* A burst's write, in the regions of the levels [from, to).  Bursts have numbers from 1 on. */
void comm_nest_write(struct comm_nest *nest, uint32_t object, uint64_t datum, uint32_t from,
		     uint32_t to, uint32_t burst, uint32_t thread, uint32_t site);
void comm_nest_read(struct comm_nest *nest, uint32_t object, uint64_t datum, uint32_t burst,
		    uint64_t time_ns);
/* without: a burst whose votes are left out; 0: none. */
void comm_nest_look(const struct comm_nest *nest, uint32_t object, uint64_t datum, uint32_t without,
		    struct comm_nest_view *ret);
/*
 * Forgets when the nest is crowded: between estimates.  Returns the regions
 * forgotten, and the votes and reads that had no place since the last time.
 */
uint64_t comm_nest_tidy(struct comm_nest *nest);

#endif
