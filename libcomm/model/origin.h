/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Origins: where the loads of a reading end, a thread's at a site of an object, found their
 * data, as precise samples tell.  The engine counts them for a slice, the store sums
 * them for wider ones, and a report states them as shares of an edge's loads.  Not for stores,
 * nor for accesses that a burst brought: nobody knows where these went.  One thread uses a
 * table.
 */
#ifndef COMM_ORIGIN_H
#define COMM_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

#include "data_src.h"
#include "keyed.h"

struct comm_origin_sums {
	uint64_t samples;
	double loads;	     /* that the samples stand for */
	double timed_loads;  /* of these, the latency was measured of so many */
	double timed_cycles; /* which took so many together */
};

struct comm_origin {
	uint32_t thread, site, object;
	struct comm_origin_sums from[COMM_FROM_MAX];
	double bytes; /* that were read there; for the user of the table, who alone sums them */
};

/* By thread, site and object. */
struct comm_origins {
	COMM_KEYED(keyed, struct comm_origin, origin, n);
};

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_origins_deinit(struct comm_origins *table);
void comm_origins_clear(struct comm_origins *table);
/* Finds that end, or makes it with zero sums; *ret is its place in origin.  -ENOMEM. */
int comm_origins_at(struct comm_origins *table, uint32_t thread, uint32_t site, uint32_t object,
		    size_t *ret);
/* Adds the sums of an end to the same one of the table.  -ENOMEM. */
int comm_origins_add(struct comm_origins *table, const struct comm_origin *origin);
/*
 * Keeps the cap ends with most loads, whole, so that no share changes, and sums the others
 * up in one without thread, site and object.  *ret_folded grows by these.
 */
void comm_origins_fold(struct comm_origins *table, size_t cap, uint64_t *ret_folded);
/* Orders by thread, site and object. */
void comm_origins_sort(struct comm_origins *table);

#endif
