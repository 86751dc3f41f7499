/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A write profile of made-up bursts, in which each access stands for itself, for tests of what the
 * estimator learns.  To be included once by a test program.
 */
#ifndef TESTS_MADE_PROFILE_H
#define TESTS_MADE_PROFILE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "event.h"
#include "ids.h"
#include "write_profile.h"

enum {
	WORD = 8, /* bytes of a datum */
	LINE = 64,
	OBJECT = 5,
	SITE_W = 100,
	SITE_R = 200,
};

static const uint64_t base = (3ull << COMM_DATUM_SPACE_SHIFT) + (1 << 20);
static struct comm_weights *weights;
static struct comm_window *window;
static struct comm_write_profile *profile;
static struct comm_areas *areas;
static uint32_t n_learned; /* bursts of the window */

static inline int setup(void **state)
{
	(void)state;
	n_learned = 0;
	if (comm_weights_create(1, &weights) || comm_window_create(1 << 24, WORD, &window) ||
	    comm_write_profile_create(1 << 24, WORD, &profile))
		return -1;
	areas = comm_write_profile_areas(profile);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	comm_weights_destroy(weights);
	comm_window_destroy(window);
	comm_write_profile_destroy(profile);
	return 0;
}

static inline struct comm_access access_of(uint64_t offset, uint32_t size_bytes, uint16_t flags)
{
	return (struct comm_access){.datum = base + offset,
				    .size_bytes = size_bytes,
				    .object = OBJECT,
				    .site = flags & COMM_ACCESS_WRITE ? SITE_W : SITE_R,
				    .flags = flags,
				    .known = 1};
}

static inline void burst(uint32_t thread, const struct comm_access *access, uint32_t n)
{
	const struct comm_access_burst b = {.time_ns = 1000,
					    .thread = thread,
					    .exact = true,
					    .trigger = COMM_TRIGGER_ACCESSES,
					    .period = 1,
					    .n_insns = n,
					    .n = n,
					    .access = access};

	assert_int_equal(comm_window_add(window, weights, &b, thread), 0);
}

/* So many bursts, each of one write or read of a datum. */
static inline void writes(uint32_t thread, uint64_t offset, uint32_t n)
{
	const struct comm_access access = access_of(offset, WORD, COMM_ACCESS_WRITE);

	for (uint32_t i = 0; i < n; i++)
		burst(thread, &access, 1);
}

static inline void reads(uint32_t thread, uint64_t offset, uint32_t n)
{
	const struct comm_access access = access_of(offset, WORD, COMM_ACCESS_READ);

	for (uint32_t i = 0; i < n; i++)
		burst(thread, &access, 1);
}

/* The profile learns of the window's bursts. */
static inline void learn(void)
{
	n_learned = comm_window_count(window);
	comm_write_profile_learn(profile, window, weights, n_learned);
}

static inline uint32_t area_of(uint64_t offset, uint32_t level)
{
	return comm_area_find(areas, OBJECT, base + offset, level, false);
}

/* NULL: it was not seen there. */
static inline struct comm_actor *actor_of(uint32_t thread, uint64_t offset, uint32_t level)
{
	uint32_t area = area_of(offset, level);
	uint32_t at = area ? comm_actor_find(areas, area, thread, false) : 0;

	return at ? comm_actor_at(areas, at) : NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
