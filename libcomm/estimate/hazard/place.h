/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places: sampled accesses by address and at whatever time, to ask which one is nearest to a
 * datum in its object, and how many lie around it.
 *
 * Bounded: when full, the older half is forgotten.
 */
#ifndef COMM_PLACE_H
#define COMM_PLACE_H

#include <stdint.h>

enum { COMM_PLACES_AROUND = 256 }; /* looked at on either side of a datum, at most */

struct comm_place {
	uint64_t datum, time_ns;
	uint32_t object;
	uint32_t size_bytes;
	uint32_t thread, site;
};

struct comm_places;

int comm_places_create(uint64_t memory_bytes, struct comm_places **ret);
void comm_places_destroy(struct comm_places *places);

void comm_places_add(struct comm_places *places, const struct comm_place *place);
/*
 * The place nearest to a datum in its object, of several the latest, until one is added, and the bytes
 * between; NULL: the object has none.
 */
const struct comm_place *comm_places_nearest(struct comm_places *places, uint32_t object,
					     uint64_t datum, uint64_t *ret_bytes);
/*
 * Of the places nearer than so many bytes to at: how many there are, and how many of them are of at's
 * thread; without those of at's own burst.
 */
uint32_t comm_places_around(struct comm_places *places, const struct comm_place *at, uint64_t bytes,
			    uint32_t *ret_own);

#endif
