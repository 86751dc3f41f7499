// SPDX-License-Identifier: GPL-2.0-or-later
/* The write profile: what it learns of bursts, takes out again, and tells of objects. */
#include "made_profile.h"

enum {
	A = 2,
	B = 3,
	FAR = 1 << 16, /* bytes: another area but that of 256 KiB */
	COVER = 2048,  /* bytes of a long write, which is noted by areas of 512 */
	OTHER_OBJECT = OBJECT + 1,
	READS = 200,
	/* Lines of which little memory begins to fill, and those for which there is none. */
	FILLING = 1800,
	FULL = 6000,
	DISTANT = 1 << 21,
};

static bool near(double value, double expected)
{
	return fabs(value - expected) < 1e-5;
}

static void take_out(uint32_t i, int sign)
{
	comm_write_profile_take_out(profile, window, comm_window_at(window, i), sign);
}

/* One burst of three writes in one line and one elsewhere, another of one write. */
static void two_bursts(void)
{
	const struct comm_access access[] = {
		access_of(0, WORD, COMM_ACCESS_WRITE), access_of(0, WORD, COMM_ACCESS_WRITE),
		access_of(WORD, WORD, COMM_ACCESS_WRITE), access_of(FAR, WORD, COMM_ACCESS_WRITE)};

	burst(A, access, 4);
	writes(A, 0, 1);
	learn();
}

/* What one burst does at once is one observation, of as many accesses as there were. */
static void bursts_and_accesses(void **state)
{
	const struct comm_actor *a;

	(void)state;
	two_bursts();
	a = actor_of(A, 0, COMM_AREA_LINE);
	assert_true(a->n == 2 && near(a->weight, 4) && a->n_pieces == 2);
	assert_true(near(a->word[0] + a->word[1], 4) && a->word[0] > a->word[1]);
	assert_int_equal(comm_area_at(areas, a->area)->written, 3);
	for (uint32_t level = COMM_AREA_LINE + 1; level <= COMM_AREA_OBJECT; level++) {
		bool both = level >= COMM_AREA_OBJECT - 1;

		a = actor_of(A, 0, level);
		assert_true(a->n == 2 && near(a->weight, both ? 5 : 4));
		assert_true(a->n_pieces == 1 + (level == COMM_AREA_OBJECT - 1));
		assert_true(a->n_below == 2 + (level == COMM_AREA_OBJECT - 1));
		assert_true(comm_area_at(areas, a->area)->n == 2);
		assert_true(comm_area_at(areas, a->area)->n_data == (both ? 3 : 2));
	}
	assert_true(actor_of(A, FAR, COMM_AREA_LINE)->n == 1);
	assert_int_equal(a->site[0], SITE_W);
	assert_null(actor_of(B, 0, COMM_AREA_OBJECT));
	assert_int_equal(comm_write_profile_thinned(profile), 0);
	comm_write_profile_destroy(NULL);
}

static void long_writes(void **state)
{
	const struct comm_access access = access_of(0, COVER, COMM_ACCESS_WRITE);
	const struct comm_actor *a;

	(void)state;
	burst(A, &access, 1);
	learn();
	a = actor_of(A, 0, COMM_AREA_LINE + 1);
	assert_null(actor_of(A, 0, COMM_AREA_LINE));
	assert_true(a->n == 1 && a->weight == 64 && a->weight_cover == 64);
	assert_int_equal(a->site_words[0], COMM_ACTOR_WHOLE);
	a = actor_of(A, 0, COMM_AREA_LINE + 2);
	assert_true(a->n == 1 && a->weight == COVER / WORD && a->weight_cover == 0);
	assert_true(a->n_pieces == 4 && a->site_words[0] == 0);
}

static void what_is_read(void **state)
{
	const struct comm_actor *b;
	uint32_t line;

	(void)state;
	reads(B, 2 * WORD, 3);
	reads(A, 2 * WORD, 1);
	learn();
	line = area_of(0, COMM_AREA_LINE);
	assert_int_equal(comm_area_at(areas, line)->read[2], 4);
	assert_int_equal(comm_area_at(areas, line)->touched, 1 << 2);
	assert_int_equal(comm_area_at(areas, line)->written, 0);
	assert_null(actor_of(B, 0, COMM_AREA_LINE));
	for (uint32_t level = COMM_AREA_LINE + 1; level <= COMM_AREA_OBJECT; level++) {
		b = actor_of(B, 0, level);
		assert_true(b->n_read == 3 && b->weight_read == 3 && b->n == 0);
	}
	/* The read keeps the area. */
	assert_int_equal(comm_window_reads(window, comm_window_at(window, 0))->area, line);
}

/* A burst's own writes are as if they were not there, and then as they were. */
static void own_writes(void **state)
{
	struct comm_actor line, object;

	(void)state;
	two_bursts();
	line = *actor_of(A, 0, COMM_AREA_LINE);
	object = *actor_of(A, 0, COMM_AREA_OBJECT);
	take_out(0, -1);
	assert_true(near(actor_of(A, 0, COMM_AREA_LINE)->word[0], 1));
	assert_true(near(actor_of(A, 0, COMM_AREA_LINE)->word[1], 0));
	for (uint32_t level = COMM_AREA_LINE; level <= COMM_AREA_OBJECT; level++) {
		assert_true(actor_of(A, 0, level)->n == 1);
		assert_true(near(actor_of(A, 0, level)->weight, 1));
		assert_true(actor_of(A, 0, level)->n_below == 1);
	}
	assert_true(actor_of(A, FAR, COMM_AREA_LINE)->n == 0);
	take_out(0, 1);
	assert_true(actor_of(A, 0, COMM_AREA_LINE)->n == line.n);
	assert_true(near(actor_of(A, 0, COMM_AREA_LINE)->word[0], line.word[0]));
	assert_true(actor_of(A, 0, COMM_AREA_LINE)->n_pieces == line.n_pieces);
	assert_true(actor_of(A, 0, COMM_AREA_OBJECT)->n == object.n);
	assert_true(near(actor_of(A, 0, COMM_AREA_OBJECT)->weight, object.weight));
	assert_true(actor_of(A, 0, COMM_AREA_OBJECT)->n_below == object.n_below);
	assert_true(actor_of(A, 0, COMM_AREA_OBJECT)->site_weight[0] == object.site_weight[0]);
}

/* Bursts at 100 us, 200 us and 500 us of the thread's time: one write in so long. */
static void activity(void **state)
{
	static const double at_ns[] = {100e3, 200e3, 500e3};
	const struct comm_actor *a;

	(void)state;
	writes(A, 0, 3);
	learn();
	a = actor_of(A, 0, COMM_AREA_LINE);
	assert_true(a->last_ns < 0);
	for (uint32_t i = 0; i < 3; i++) {
		comm_write_profile_activity(profile, window, comm_window_at(window, i), at_ns[i],
					    50e3);
		assert_true(a->last_ns == at_ns[i]);
		/* Before there are two, the time before the first, with another sign. */
		assert_true(a->longest_ns == (i == 0 ? -50e3f : i == 1 ? 100e3f : 300e3f));
	}
	assert_true(near(a->recent_n, 1 + 0.9 + 0.81) && near(a->recent_weight, a->recent_n));
	assert_true(fabs(a->recent_ns / (300e3 + 0.9 * 100e3 + 0.81 * 50e3) - 1) < 1e-5);
	assert_true(actor_of(A, 0, COMM_AREA_OBJECT)->recent_ns == a->recent_ns);
}

/* How much of an object is written is what is seen of what is expected, most of it until more is known. */
static void written(void **state)
{
	double unknown = comm_write_profile_written(profile, OBJECT);

	(void)state;
	assert_true(unknown > 0.5 && unknown < 1);
	for (int i = 0; i < READS; i++) {
		comm_write_profile_read(profile, OBJECT, i % 4 == 0, 0.5);
		comm_write_profile_read(profile, OTHER_OBJECT, 1, 0.5);
	}
	/* A quarter was seen, and half of what is written would be. */
	assert_true(fabs(comm_write_profile_written(profile, OBJECT) - 0.5) < 0.05);
	/* It is never certain that all is, not even where more is seen than is expected. */
	assert_true(comm_write_profile_written(profile, OTHER_OBJECT) > 0.95);
	assert_true(comm_write_profile_written(profile, OTHER_OBJECT) < 1);
	for (int i = 0; i < 100 * READS; i++)
		comm_write_profile_read(profile, OTHER_OBJECT, 0, 1);
	/* The past is forgotten. */
	assert_true(comm_write_profile_written(profile, OTHER_OBJECT) < 0.01);
}

/* So many lines in a row are written by thread A, and the profile has learned of them and of what is in the window. */
static void write_lines(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		writes(A, i * LINE, 1);
	comm_window_drop(window, n_learned);
	learn();
}

/* Where room is scarce, what is written far from all else is noted of larger areas; what finds none is counted. */
static void little_room(void **state)
{
	struct comm_write_profile *large = profile;
	struct comm_access other = access_of(0, WORD, COMM_ACCESS_WRITE);

	(void)state;
	assert_int_equal(comm_write_profile_create(0, WORD, &profile), 0);
	areas = comm_write_profile_areas(profile);
	writes(B, 0, 1);
	write_lines(0, FILLING);
	assert_true(comm_areas_filling(areas));
	assert_non_null(actor_of(A, (FILLING - 1) * LINE, COMM_AREA_LINE));
	/* Thread A writes all of the object, and thread B was met there once. */
	writes(A, DISTANT, 1);
	writes(A, DISTANT + LINE, 1);
	writes(B, DISTANT, 1);
	write_lines(0, 0);
	assert_null(actor_of(A, DISTANT, COMM_AREA_OBJECT - 2));
	assert_true(actor_of(A, DISTANT, COMM_AREA_OBJECT - 1)->weight == 2);
	assert_null(actor_of(B, DISTANT, COMM_AREA_OBJECT - 1));
	assert_true(actor_of(B, DISTANT, COMM_AREA_OBJECT)->weight == 2);
	writes(B, 0, 1);
	write_lines(0, 0);
	assert_true(actor_of(B, 0, COMM_AREA_LINE)->n == 1);
	assert_true(actor_of(B, 0, COMM_AREA_LINE + 1)->n == 2);
	assert_int_equal(comm_write_profile_thinned(profile), 0);
	write_lines(FILLING, FULL);
	assert_null(actor_of(A, (FULL - 1) * LINE, COMM_AREA_LINE));
	assert_true(actor_of(A, 0, COMM_AREA_OBJECT)->weight == FULL + 2);
	assert_int_equal(comm_write_profile_thinned(profile), 0);
	other.object = OTHER_OBJECT;
	burst(A, &other, 1);
	write_lines(0, 0);
	assert_int_equal(comm_write_profile_thinned(profile), 1);
	comm_write_profile_destroy(profile);
	profile = large;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bursts_and_accesses), TEST(long_writes), TEST(what_is_read),
		TEST(own_writes),	   TEST(activity),    TEST(written),
		TEST(little_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
