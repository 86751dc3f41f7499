// SPDX-License-Identifier: GPL-2.0-or-later
/* Areas in little memory: which are freed, what is halved, and what they tell of data not seen yet. */
#include "made_areas.h"

enum {
	OLD = 5, /* objects */
	NEW = 6,
	THREAD = 2,
	SITE = 100,
	ALL_WORDS = 0xff,
	ROOM = 4096, /* areas, in as little memory as they take; one is none */
	HALF = 1700, /* lines that take less than half of it */
	LONG = 70,   /* sweeps */
	SHORT = 10,
	MANY = 512, /* lines */
};

static uint32_t line_of(uint32_t object, uint32_t i, bool create)
{
	return comm_area_find(areas, object, (uint64_t)i * LINE, COMM_AREA_LINE, create);
}

static struct comm_area *object_of(uint32_t object)
{
	uint32_t at = comm_area_find(areas, object, 0, COMM_AREA_OBJECT, false);

	return at ? comm_area_at(areas, at) : NULL;
}

static void make_lines(uint32_t object, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_not_equal(line_of(object, i, true), COMM_AREA_NONE);
}

static uint32_t lines_left(uint32_t object, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++)
		left += line_of(object, i, false) != COMM_AREA_NONE;
	return left;
}

/* How many areas so many lines in a row are in. */
static uint32_t areas_of(uint32_t lines)
{
	uint32_t n = 1;

	for (uint32_t level = COMM_AREA_LINE; level < COMM_AREA_OBJECT; level++) {
		n += lines;
		lines = (lines + COMM_AREA_CHILDREN - 1) / COMM_AREA_CHILDREN;
	}
	return n;
}

static struct comm_actor *write_line(uint32_t object, uint32_t i, float bursts)
{
	uint32_t line = line_of(object, i, true);
	struct comm_actor *a;

	comm_area_wrote(areas, line, ALL_WORDS);
	for (uint32_t at = comm_area_at(areas, line)->parent; at;
	     at = comm_area_at(areas, at)->parent)
		comm_area_at(areas, at)->n_written += bursts * COMM_AREA_CHILDREN;
	a = comm_actor_at(areas, comm_actor_find(areas, line, THREAD, true));
	a->n += bursts;
	return a;
}

/* Finer areas wait from half of the room on, a sweep is due from three quarters on. */
static void room_ends(void **state)
{
	uint32_t lines = 0;

	(void)state;
	assert_false(comm_areas_filling(areas) || comm_areas_crowded(areas));
	while (line_of(NEW, lines, true)) {
		lines++;
		assert_int_equal(comm_areas_filling(areas), areas_of(lines) > ROOM / 2);
		assert_int_equal(comm_areas_crowded(areas), areas_of(lines) > ROOM / 4 * 3);
	}
	assert_in_range(areas_of(lines), ROOM - COMM_AREA_LEVELS, ROOM - 1);
	assert_int_equal(lines_left(NEW, lines), lines);
	assert_int_equal(line_of(OLD, 0, true), COMM_AREA_NONE);
}

static void nothing_goes_while_there_is_room(void **state)
{
	(void)state;
	make_lines(OLD, HALF);
	for (int i = 0; i < LONG; i++)
		assert_int_equal(comm_areas_sweep(areas, false), 0);
	assert_int_equal(lines_left(OLD, HALF), HALF);
}

/* What was not used for longest goes, with all that it lies in; writers that go are counted. */
static void the_oldest_go(void **state)
{
	const uint32_t kept = 3, written = 10;

	(void)state;
	make_lines(OLD, HALF);
	for (uint32_t i = 0; i < written; i++)
		write_line(OLD, i, 1);
	comm_actor_find(areas, line_of(OLD, written, false), THREAD, true);
	for (int i = 0; i < LONG; i++)
		comm_areas_sweep(areas, false);
	line_of(OLD, kept, false);
	for (int i = 0; i < SHORT; i++)
		comm_areas_sweep(areas, false);
	make_lines(NEW, HALF);
	assert_true(comm_areas_crowded(areas));
	assert_int_equal(comm_areas_sweep(areas, false), written - 1);
	assert_false(comm_areas_filling(areas));
	assert_int_equal(lines_left(NEW, HALF), HALF);
	assert_int_equal(lines_left(OLD, HALF), 1);
	/* Of data that are gone none was written. */
	assert_int_equal(object_of(OLD)->n_children, 1);
	assert_true(object_of(OLD)->n_data == COMM_AREA_CHILDREN);
	assert_int_not_equal(comm_actor_find(areas, line_of(OLD, kept, false), THREAD, false), 0);
	/* There is room for as much again. */
	make_lines(OLD, HALF);
	assert_int_equal(lines_left(NEW, HALF), HALF);
}

/* Where all was used lately, what more than one burst wrote stays. */
static void the_thin_go(void **state)
{
	const uint32_t lines = 2 * HALF, thick = 20;

	(void)state;
	make_lines(NEW, lines);
	for (uint32_t i = 0; i < thick; i++)
		write_line(NEW, i * 7, 2);
	write_line(NEW, 1, 1);
	assert_true(comm_areas_crowded(areas));
	assert_int_equal(comm_areas_sweep(areas, false), 1);
	assert_int_equal(lines_left(NEW, lines), thick);
	for (uint32_t i = 0; i < thick; i++)
		assert_int_not_equal(line_of(NEW, i * 7, false), COMM_AREA_NONE);
}

static void counts_are_halved(void **state)
{
	struct comm_actor *a = write_line(NEW, 0, 8);
	struct comm_area *line = comm_area_at(areas, line_of(NEW, 0, false));

	(void)state;
	a->weight = a->word[3] = 16;
	a->n_read = a->weight_read = 4;
	comm_actor_add_site(a, SITE, 16, ALL_WORDS);
	line->n = 8;
	line->read[3] = 12;
	comm_areas_sweep(areas, false);
	assert_true(a->n == 8 && line->n == 8);
	comm_areas_sweep(areas, true);
	assert_true(a->n == 4 && a->weight == 8 && a->word[3] == 8 && a->site_weight[0] == 8);
	assert_true(a->n_read == 2 && a->weight_read == 2);
	assert_true(line->n == 4 && line->read[3] == 6);
	assert_true(object_of(NEW)->n_written == 32 && object_of(NEW)->n_data == 8);
	/* A thread that was seen to write stays known, with what it wrote of each. */
	for (int i = 0; i < LONG; i++)
		comm_areas_sweep(areas, true);
	assert_true(a->n > 0.1f && a->n < 1);
	assert_true(fabs(a->weight / a->n - 2) < 1e-6 && fabs(a->word[3] / a->n - 2) < 1e-6);
	assert_true(a->n_read < 1e-6f);
}

/* A datum counts as written once, however often it is. */
static void data_written(void **state)
{
	uint32_t line = line_of(NEW, 0, true);

	(void)state;
	comm_area_wrote(areas, line, 3);
	comm_area_wrote(areas, line, 6);
	assert_int_equal(comm_area_at(areas, line)->written, 7);
	assert_int_equal(comm_area_at(areas, line)->touched, 7);
	for (uint32_t at = comm_area_at(areas, line)->parent; at;
	     at = comm_area_at(areas, at)->parent)
		assert_true(comm_area_at(areas, at)->n_data == 3);
}

/*
 * Rates that are exponentially distributed and have the mean m leave 1 / (1 + m) of the data without a
 * write, and those that are seen to be written are so 1 + m times.
 */
static void what_is_found(void **state)
{
	uint32_t line;

	(void)state;
	assert_true(comm_area_found(areas, line_of(NEW, 0, true)) == 0);
	for (uint32_t i = 0; i < MANY; i++)
		write_line(NEW, i, 4);
	line = line_of(NEW, MANY / 2, false);
	assert_true(fabs(comm_area_found(areas, line) - 0.75) < 0.01);
	/* An object in which each was met but once tells nothing of the others. */
	for (uint32_t i = 0; i < MANY; i++)
		write_line(OLD, i, 1);
	assert_true(comm_area_found(areas, line_of(OLD, 0, false)) < 0.01);
	/* What lies nearer tells more: one line of it is written all the time, and those beside it. */
	for (uint32_t i = 0; i < COMM_AREA_CHILDREN; i++)
		write_line(OLD, i, 30);
	assert_true(comm_area_found(areas, line_of(OLD, 0, false)) > 0.9);
	assert_true(comm_area_found(areas, line_of(OLD, MANY - 1, false)) < 0.5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(room_ends),	 TEST(nothing_goes_while_there_is_room),
		TEST(the_oldest_go),	 TEST(the_thin_go),
		TEST(counts_are_halved), TEST(data_written),
		TEST(what_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
