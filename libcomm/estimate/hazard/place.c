// SPDX-License-Identifier: GPL-2.0-or-later
#include "place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct comm_places {
	struct comm_place *place; /* in order up to n_sorted, then as they came */
	struct comm_place *spare; /* likewise of max_places; to merge into */
	uint32_t n, n_sorted, max_places;
};

int comm_places_create(uint64_t memory_bytes, struct comm_places **ret)
{
	struct comm_places *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->max_places = (uint32_t)(memory_bytes / (2 * sizeof(*p->place)));
	p->place = malloc(p->max_places * sizeof(*p->place));
	p->spare = malloc(p->max_places * sizeof(*p->spare));
	if (!p->max_places || !p->place || !p->spare) {
		comm_places_destroy(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

void comm_places_destroy(struct comm_places *places)
{
	if (!places)
		return;
	free(places->place);
	free(places->spare);
	free(places);
}

/* By address; of one address the latest is the last one. */
static int place_order(const void *pa, const void *pb)
{
	const struct comm_place *a = pa, *b = pb;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->datum != b->datum)
		return a->datum < b->datum ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void places_sort(struct comm_places *p)
{
	uint32_t i = 0, j = p->n_sorted;
	struct comm_place *merged = p->spare;

	if (p->n == p->n_sorted)
		return;
	qsort(p->place + j, p->n - j, sizeof(*p->place), place_order);
	for (uint32_t k = 0; k < p->n; k++) {
		bool old = i < p->n_sorted &&
			   (j == p->n || place_order(&p->place[i], &p->place[j]) <= 0);

		merged[k] = p->place[old ? i++ : j++];
	}
	p->spare = p->place;
	p->place = merged;
	p->n_sorted = p->n;
}

/*
 * The time that half of them are before.  Digit by digit from the top, each in a pass over those that agree so
 * far: to sort them all took a twentieth of a replay.
 */
static uint64_t middle_of(const uint64_t *time_ns, uint32_t n)
{
	enum { BITS = 11, DIGITS = 1 << BITS, TOP = 5 * BITS };
	uint64_t middle_ns = 0, agreed = 0;
	uint32_t count[DIGITS], rank = n / 2;

	for (int shift = TOP; shift >= 0; shift -= BITS) {
		uint64_t digit = 0;

		memset(count, 0, sizeof(count));
		for (uint32_t i = 0; i < n; i++)
			if ((time_ns[i] & agreed) == middle_ns)
				count[time_ns[i] >> shift & (DIGITS - 1)]++;
		while (rank >= count[digit])
			rank -= count[digit++];
		middle_ns |= digit << shift;
		agreed |= (uint64_t)(DIGITS - 1) << shift;
	}
	return middle_ns;
}

static void places_forget(struct comm_places *p)
{
	uint64_t *time_ns, middle_ns;
	uint32_t n = 0;

	places_sort(p);
	time_ns = (uint64_t *)p->spare;
	for (uint32_t i = 0; i < p->n; i++)
		time_ns[i] = p->place[i].time_ns;
	middle_ns = middle_of(time_ns, p->n);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->place[i].time_ns > middle_ns)
			p->place[n++] = p->place[i];
	p->n = p->n_sorted = n;
}

void comm_places_add(struct comm_places *places, const struct comm_place *place)
{
	if (places->n == places->max_places)
		places_forget(places);
	places->place[places->n++] = *place;
}

/* How many places are before the end of a datum in an object. */
static uint32_t places_until(const struct comm_places *p, uint32_t object, uint64_t datum)
{
	struct comm_place key = {.object = object, .datum = datum, .time_ns = UINT64_MAX};
	uint32_t low = 0, high = p->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (place_order(&p->place[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t place_bytes(const struct comm_place *p, uint64_t datum)
{
	if (datum < p->datum)
		return p->datum - datum;
	return datum - p->datum < p->size_bytes ? 0 : datum - p->datum - p->size_bytes + 1;
}

const struct comm_place *comm_places_nearest(struct comm_places *places, uint32_t object,
					     uint64_t datum, uint64_t *ret_bytes)
{
	const struct comm_place *below = NULL, *above = NULL, *nearest;
	uint32_t at;

	places_sort(places);
	at = places_until(places, object, datum);
	if (at && places->place[at - 1].object == object)
		below = &places->place[at - 1];
	if (at < places->n && places->place[at].object == object) {
		above = &places->place[at];
		/* The latest write of that address. */
		while (at + 1 < places->n && places->place[at + 1].object == object &&
		       places->place[at + 1].datum == above->datum)
			at++;
		above = &places->place[at];
	}
	nearest = below ? below : above;
	if (!nearest)
		return NULL;
	if (above && place_bytes(above, datum) < place_bytes(nearest, datum))
		nearest = above;
	*ret_bytes = place_bytes(nearest, datum);
	return nearest;
}

uint32_t comm_places_around(struct comm_places *places, const struct comm_place *at, uint64_t bytes,
			    uint32_t *ret_own)
{
	uint32_t middle, n = 0, first, last;

	*ret_own = 0;
	places_sort(places);
	middle = places_until(places, at->object, at->datum);
	first = middle > COMM_PLACES_AROUND ? middle - COMM_PLACES_AROUND : 0;
	last = places->n - middle > COMM_PLACES_AROUND ? middle + COMM_PLACES_AROUND : places->n;
	for (uint32_t i = first; i < last; i++) {
		const struct comm_place *p = &places->place[i];
		bool mine = p->thread == at->thread;

		if (p->object != at->object || place_bytes(p, at->datum) >= bytes ||
		    (mine && p->time_ns == at->time_ns))
			continue;
		n++;
		*ret_own += mine;
	}
	return n;
}
