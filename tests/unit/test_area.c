// SPDX-License-Identifier: GPL-2.0-or-later
/* Areas: one in the other, the threads in them, the code of those, and which are freed. */
#include "ids.h"
#include "made_areas.h"

enum {
	KIB_256 = 1 << 18,
	OBJECT = 5,
	THREAD = 2,
	SITE = 100,
	ACTORS_MAX = 256, /* of an area */
	OBJECTS = 600,	  /* for which there is room */
};

static const uint64_t space = 1ull << COMM_DATUM_SPACE_SHIFT;
static const uint64_t base = 3 * space + KIB_256;

static uint32_t line_of(uint64_t offset, bool create)
{
	return comm_area_find(areas, OBJECT, base + offset, COMM_AREA_LINE, create);
}

static uint32_t area_of(uint64_t offset, uint32_t level)
{
	return comm_area_find(areas, OBJECT, base + offset, level, false);
}

static struct comm_actor *actor_of(uint32_t area, uint32_t thread)
{
	return comm_actor_at(areas, comm_actor_find(areas, area, thread, true));
}

static void sizes(void **state)
{
	static const uint32_t shift[COMM_AREA_LEVELS] = {3, 6, 9, 12, 15, 18, 63};
	struct comm_areas *of_bytes;

	(void)state;
	for (uint32_t level = 0; level < COMM_AREA_LEVELS; level++)
		assert_int_equal(comm_area_shift(areas, level), shift[level]);
	assert_int_equal(comm_areas_create(0, 1, &of_bytes), 0);
	assert_int_equal(comm_area_shift(of_bytes, COMM_AREA_LINE), 3);
	comm_areas_destroy(of_bytes);
	comm_areas_destroy(NULL);
}

static void one_in_the_other(void **state)
{
	uint32_t line, at;

	(void)state;
	assert_int_equal(line_of(0, false), COMM_AREA_NONE);
	at = line = line_of(3 * LINE, true);
	for (uint32_t level = COMM_AREA_LINE; level <= COMM_AREA_OBJECT; level++) {
		const struct comm_area *area = comm_area_at(areas, at);

		assert_int_equal(area->level, level);
		assert_int_equal(area->object, OBJECT);
		assert_int_equal(area_of(3 * LINE, level), at);
		assert_int_equal(area->n_children, level > COMM_AREA_LINE);
		at = area->parent;
	}
	assert_int_equal(at, COMM_AREA_NONE);
	/* The line ends with its last byte. */
	assert_int_equal(line_of(4 * LINE - 1, true), line);
	assert_int_not_equal(line_of(4 * LINE, true), line);
	at = area_of(0, COMM_AREA_LINE + 1);
	assert_int_equal(comm_area_at(areas, at)->touched, 1 << 3 | 1 << 4);
	assert_int_equal(comm_area_at(areas, at)->n_children, 2);
	/* Another 256 KiB are in the same object. */
	line_of(KIB_256, true);
	at = area_of(0, COMM_AREA_OBJECT);
	assert_int_equal(area_of(KIB_256, COMM_AREA_OBJECT), at);
	assert_int_equal(comm_area_at(areas, at)->n_children, 2);
	assert_int_not_equal(area_of(KIB_256, COMM_AREA_OBJECT - 1),
			     area_of(0, COMM_AREA_OBJECT - 1));
}

/* No area crosses an object, nor has it the private copies of two processes. */
static void objects_apart(void **state)
{
	uint32_t line = line_of(0, true);
	uint32_t other = comm_area_find(areas, OBJECT + 1, base, COMM_AREA_LINE, true);
	uint32_t copy = comm_area_find(areas, OBJECT, base + space, COMM_AREA_LINE, true);
	uint32_t object = area_of(0, COMM_AREA_OBJECT);

	(void)state;
	assert_int_not_equal(line, other);
	assert_int_not_equal(line, copy);
	assert_int_not_equal(comm_area_find(areas, OBJECT + 1, base, COMM_AREA_OBJECT, false),
			     object);
	assert_int_not_equal(comm_area_find(areas, OBJECT, base + space, COMM_AREA_OBJECT, false),
			     object);
	assert_int_equal(comm_area_at(areas, object)->n_children, 1);
	for (uint32_t i = OBJECT; i < OBJECT + OBJECTS; i++) {
		other = comm_area_find(areas, i, base, COMM_AREA_LINE, true);
		assert_int_equal(comm_area_at(areas, other)->object, i);
	}
}

static void threads_in_a_area(void **state)
{
	uint32_t line = line_of(0, true), at, n = 0;

	(void)state;
	assert_int_equal(comm_actor_find(areas, line, THREAD, false), 0);
	at = comm_actor_find(areas, line, THREAD, true);
	assert_int_not_equal(at, comm_actor_find(areas, line, THREAD + 1, true));
	assert_int_equal(comm_actor_find(areas, line, THREAD, false), at);
	assert_true(comm_actor_at(areas, at)->last_ns < 0);
	/* Latest first. */
	assert_int_equal(comm_area_at(areas, line)->n_actors, 2);
	assert_int_equal(comm_actor_at(areas, comm_area_at(areas, line)->actors)->thread,
			 THREAD + 1);
	/* The same thread, up to the object. */
	assert_int_equal(comm_actor_above(areas, at, false), 0);
	for (; at; at = comm_actor_above(areas, at, true)) {
		assert_int_equal(comm_actor_at(areas, at)->thread, THREAD);
		assert_int_equal(comm_area_at(areas, comm_actor_at(areas, at)->area)->level,
				 COMM_AREA_LINE + n++);
	}
	assert_int_equal(n, COMM_AREA_OBJECT);
}

/* Of more threads than an area has room for the one that was seen least goes. */
static void many_threads(void **state)
{
	uint32_t line = line_of(0, true), known = 0;

	(void)state;
	for (uint32_t i = 1; i <= ACTORS_MAX; i++) {
		actor_of(line, i)->n = i == 7 || i == 9 ? 0 : 2;
		actor_of(line, i)->n_read = i == 7 ? 9 : 0;
	}
	assert_int_not_equal(comm_actor_find(areas, line, ACTORS_MAX + 1, true), 0);
	assert_int_equal(comm_area_at(areas, line)->n_actors, ACTORS_MAX);
	assert_int_equal(comm_actor_find(areas, line, 9, false), 0);
	for (uint32_t at = comm_area_at(areas, line)->actors; at;
	     at = comm_actor_at(areas, at)->next)
		known++;
	assert_int_equal(known, ACTORS_MAX);
	for (uint32_t i = 1; i <= ACTORS_MAX + 1; i++)
		assert_true(i == 9 || comm_actor_find(areas, line, i, false));
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
		TEST(objects_apart), TEST(threads_in_a_area),
		TEST(many_threads),  TEST(code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
