// SPDX-License-Identifier: GPL-2.0-or-later
/* Regions: one in the other, the threads in them, the code of those, and which are freed. */
#include "ids.h"
#include "made_regions.h"

enum {
	KIB_256 = 1 << 18,
	OBJECT = 5,
	THREAD = 2,
	SITE = 100,
	ACTORS_MAX = 256, /* of a region */
	OBJECTS = 600,	  /* for which there is room */
};

static const uint64_t space = 1ull << COMM_DATUM_SPACE_SHIFT;
static const uint64_t base = 3 * space + KIB_256;

static uint32_t line_of(uint64_t offset, bool create)
{
	return comm_region_find(regions, OBJECT, base + offset, COMM_REGION_LINE, create);
}

static uint32_t region_of(uint64_t offset, uint32_t level)
{
	return comm_region_find(regions, OBJECT, base + offset, level, false);
}

static struct comm_actor *actor_of(uint32_t region, uint32_t thread)
{
	return comm_actor_at(regions, comm_actor_find(regions, region, thread, true));
}

static void sizes(void **state)
{
	static const uint32_t shift[COMM_REGION_LEVELS] = {3, 6, 9, 12, 15, 18, 63};
	struct comm_regions *of_bytes;

	(void)state;
	for (uint32_t level = 0; level < COMM_REGION_LEVELS; level++)
		assert_int_equal(comm_region_shift(regions, level), shift[level]);
	assert_int_equal(comm_regions_create(0, 1, &of_bytes), 0);
	assert_int_equal(comm_region_shift(of_bytes, COMM_REGION_LINE), 3);
	comm_regions_destroy(of_bytes);
	comm_regions_destroy(NULL);
}

static void one_in_the_other(void **state)
{
	uint32_t line, at;

	(void)state;
	assert_int_equal(line_of(0, false), COMM_REGION_NONE);
	at = line = line_of(3 * LINE, true);
	for (uint32_t level = COMM_REGION_LINE; level <= COMM_REGION_OBJECT; level++) {
		const struct comm_region *region = comm_region_at(regions, at);

		assert_int_equal(region->level, level);
		assert_int_equal(region->object, OBJECT);
		assert_int_equal(region_of(3 * LINE, level), at);
		assert_int_equal(region->n_children, level > COMM_REGION_LINE);
		at = region->parent;
	}
	assert_int_equal(at, COMM_REGION_NONE);
	/* The line ends with its last byte. */
	assert_int_equal(line_of(4 * LINE - 1, true), line);
	assert_int_not_equal(line_of(4 * LINE, true), line);
	at = region_of(0, COMM_REGION_LINE + 1);
	assert_int_equal(comm_region_at(regions, at)->touched, 1 << 3 | 1 << 4);
	assert_int_equal(comm_region_at(regions, at)->n_children, 2);
	/* Another 256 KiB are in the same object. */
	line_of(KIB_256, true);
	at = region_of(0, COMM_REGION_OBJECT);
	assert_int_equal(region_of(KIB_256, COMM_REGION_OBJECT), at);
	assert_int_equal(comm_region_at(regions, at)->n_children, 2);
	assert_int_not_equal(region_of(KIB_256, COMM_REGION_OBJECT - 1),
			     region_of(0, COMM_REGION_OBJECT - 1));
}

/* No region crosses an object, nor has it the private copies of two processes. */
static void objects_apart(void **state)
{
	uint32_t line = line_of(0, true);
	uint32_t other = comm_region_find(regions, OBJECT + 1, base, COMM_REGION_LINE, true);
	uint32_t copy = comm_region_find(regions, OBJECT, base + space, COMM_REGION_LINE, true);
	uint32_t object = region_of(0, COMM_REGION_OBJECT);

	(void)state;
	assert_int_not_equal(line, other);
	assert_int_not_equal(line, copy);
	assert_int_not_equal(comm_region_find(regions, OBJECT + 1, base, COMM_REGION_OBJECT, false),
			     object);
	assert_int_not_equal(
		comm_region_find(regions, OBJECT, base + space, COMM_REGION_OBJECT, false), object);
	assert_int_equal(comm_region_at(regions, object)->n_children, 1);
	for (uint32_t i = OBJECT; i < OBJECT + OBJECTS; i++) {
		other = comm_region_find(regions, i, base, COMM_REGION_LINE, true);
		assert_int_equal(comm_region_at(regions, other)->object, i);
	}
}

static void threads_in_a_region(void **state)
{
	uint32_t line = line_of(0, true), at, n = 0;

	(void)state;
	assert_int_equal(comm_actor_find(regions, line, THREAD, false), 0);
	at = comm_actor_find(regions, line, THREAD, true);
	assert_int_not_equal(at, comm_actor_find(regions, line, THREAD + 1, true));
	assert_int_equal(comm_actor_find(regions, line, THREAD, false), at);
	assert_true(comm_actor_at(regions, at)->last_ns < 0);
	/* Latest first. */
	assert_int_equal(comm_region_at(regions, line)->n_actors, 2);
	assert_int_equal(comm_actor_at(regions, comm_region_at(regions, line)->actors)->thread,
			 THREAD + 1);
	/* The same thread, up to the object. */
	assert_int_equal(comm_actor_above(regions, at, false), 0);
	for (; at; at = comm_actor_above(regions, at, true)) {
		assert_int_equal(comm_actor_at(regions, at)->thread, THREAD);
		assert_int_equal(comm_region_at(regions, comm_actor_at(regions, at)->region)->level,
				 COMM_REGION_LINE + n++);
	}
	assert_int_equal(n, COMM_REGION_OBJECT);
}

/* Of more threads than a region has room for the one that was seen least goes. */
static void many_threads(void **state)
{
	uint32_t line = line_of(0, true), known = 0;

	(void)state;
	for (uint32_t i = 1; i <= ACTORS_MAX; i++) {
		actor_of(line, i)->n = i == 7 || i == 9 ? 0 : 2;
		actor_of(line, i)->n_read = i == 7 ? 9 : 0;
	}
	assert_int_not_equal(comm_actor_find(regions, line, ACTORS_MAX + 1, true), 0);
	assert_int_equal(comm_region_at(regions, line)->n_actors, ACTORS_MAX);
	assert_int_equal(comm_actor_find(regions, line, 9, false), 0);
	for (uint32_t at = comm_region_at(regions, line)->actors; at;
	     at = comm_actor_at(regions, at)->next)
		known++;
	assert_int_equal(known, ACTORS_MAX);
	for (uint32_t i = 1; i <= ACTORS_MAX + 1; i++)
		assert_true(i == 9 || comm_actor_find(regions, line, i, false));
}

/* The code of a datum is what wrote that datum; of the whole line, all that is met there. */
static void code(void **state)
{
	struct comm_actor *a = actor_of(line_of(0, true), THREAD);
	uint32_t site[COMM_ACTOR_SITES];
	double part[COMM_ACTOR_SITES];

	(void)state;
	assert_int_equal(comm_actor_sites(a, false, 0, site, part), 1);
	assert_true(site[0] == COMM_ID_OTHER && part[0] == 1);
	comm_actor_add_site(a, SITE, 1, 1 << 0);
	comm_actor_add_site(a, SITE + 1, 4, 1 << 1);
	comm_actor_add_site(a, SITE, 2, 1 << 2);
	assert_int_equal(comm_actor_sites(a, true, 1, site, part), 1);
	assert_true(site[0] == SITE + 1 && part[0] == 1);
	assert_int_equal(comm_actor_sites(a, true, 0, site, part), 1);
	assert_int_equal(site[0], SITE);
	assert_int_equal(comm_actor_sites(a, true, 2, site, part), 1);
	assert_int_equal(site[0], SITE);
	assert_int_equal(comm_actor_sites(a, false, 0, site, part), 2);
	assert_true(fabs(part[site[0] != SITE] - 3.0 / 7) < 1e-6);
	assert_true(fabs(part[0] + part[1] - 1) < 1e-6);
	/* The lightest of all gives way; what it wrote is of none of the others. */
	comm_actor_add_site(a, SITE + 2, 0.5f, 1 << 3);
	comm_actor_add_site(a, SITE + 3, 3, 1 << 4);
	comm_actor_add_site(a, SITE + 4, 3, 1 << 5);
	assert_int_equal(comm_actor_sites(a, true, 5, site, part), 1);
	assert_int_equal(site[0], SITE + 4);
	assert_int_equal(comm_actor_sites(a, true, 3, site, part), 1);
	assert_int_equal(site[0], COMM_ID_OTHER);
	assert_int_equal(comm_actor_sites(a, false, 0, site, part), COMM_ACTOR_SITES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes),	     TEST(one_in_the_other),
		TEST(objects_apart), TEST(threads_in_a_region),
		TEST(many_threads),  TEST(code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
