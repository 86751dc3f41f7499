// SPDX-License-Identifier: GPL-2.0-or-later
#include "path.h"

#include <stddef.h>

#include "thread.h"

enum {
	SLOTS = 2 * COMM_EXACT_PATHS_MAX,
};

/* Numbers of pairs, from a first one on; a number that two threads wanted at once for one pair may be nobody's. */
struct numbers {
	uint32_t n;			     /* all less than that have their pair */
	uint64_t pair[COMM_EXACT_PATHS_MAX]; /* 0: free */
	uint32_t slot[SLOTS];		     /* by hash, 0: free */
};

static struct {
	struct numbers path, place;
} * all; /* NULL: nobody asked */

void comm_exact_paths_init(void)
{
	all = comm_exact_map_shared(sizeof(*all));
	all->path.n = COMM_EXACT_PATH_FIRST;
	all->place.n = COMM_EXACT_REGION_FIRST;
	all->place.pair[COMM_EXACT_REGION_OTHER] = COMM_EXACT_REGION_OTHER;
}

/*
 * The pair first, and then the count: whoever writes the result may look in between.  The count is raised by whoever
 * finds it behind, as a signal may hold up the thread that wrote the pair.
 */
static uint32_t new_number(struct numbers *of, uint64_t pair)
{
	uint32_t n = __atomic_load_n(&of->n, __ATOMIC_ACQUIRE);

	while (n < COMM_EXACT_PATHS_MAX) {
		uint32_t behind = n;
		uint64_t free = 0;
		const int is_mine = __atomic_compare_exchange_n(&of->pair[n], &free, pair, 0,
								__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);

		__atomic_compare_exchange_n(&of->n, &behind, n + 1, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
		if (is_mine)
			return n;
		n = __atomic_load_n(&of->n, __ATOMIC_ACQUIRE);
	}
	return 0;
}

/* 0: there are too many. */
static uint32_t number(struct numbers *of, uint64_t pair)
{
	uint64_t hash = pair * 0x9e3779b97f4a7c15u;
	uint32_t i = hash >> 40, mine = 0;

	for (;; i++) {
		uint32_t *slot = &of->slot[i & (SLOTS - 1)];
		uint32_t n = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!n && !mine)
			mine = new_number(of, pair);
		if (!n && !mine)
			return 0;
		/* What the number is of before the number; or n is now what another thread has put there. */
		if (!n && __atomic_compare_exchange_n(slot, &n, mine, 0, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE))
			return mine;
		if (of->pair[n] == pair)
			return n;
	}
}

uint32_t comm_exact_path_within(uint32_t parent, uint32_t function)
{
	/* No pair is 0. */
	return number(&all->path, (uint64_t)parent << 32 | (function + 1));
}

uint32_t comm_exact_path_count(void)
{
	return all ? __atomic_load_n(&all->path.n, __ATOMIC_ACQUIRE) : 0;
}

struct comm_exact_path comm_exact_path_get(uint32_t path)
{
	const uint64_t pair = all->path.pair[path];

	return (struct comm_exact_path){pair >> 32, pair ? (uint32_t)pair - 1 : 0};
}

uint32_t comm_exact_place(struct comm_exact_place of)
{
	uint32_t place;

	if (!all || (!of.path && of.region < COMM_EXACT_REGION_FIRST))
		return of.region;
	place = number(&all->place, (uint64_t)of.path << 32 | of.region);
	return place ? place : COMM_EXACT_REGION_OTHER;
}

struct comm_exact_place comm_exact_place_at(uint32_t place)
{
	if (!all)
		return (struct comm_exact_place){place, COMM_EXACT_PATH_UNKNOWN};
	return (struct comm_exact_place){all->place.pair[place], all->place.pair[place] >> 32};
}
