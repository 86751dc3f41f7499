// SPDX-License-Identifier: GPL-2.0-or-later
/* Candidates: who may have written a datum, by what each thread was seen to write around it. */
#include "candidate.h"
#include "made_profile.h"

enum {
	READER = 1,
	A = 2,
	B = 3,
	TRUSTED = COMM_CANDIDATE_BURSTS,
	MANY = 1000,
	FAR = 1 << 16, /* bytes: another area but that of 256 KiB */
	OFTEN = 16,
	COVER = 2048, /* bytes: four areas of 512 */
};

static struct comm_candidate candidate[COMM_CANDIDATES];
static struct comm_around around;

/* The candidates at a read of a datum; it was read by at least one burst. */
static uint32_t find(uint64_t offset)
{
	struct comm_window_read read = {.datum = base + offset, .object = OBJECT};

	read.area = area_of(offset, COMM_AREA_LINE);
	if (!read.area)
		read.area = area_of(offset, COMM_AREA_LINE + 1);
	return comm_candidates_find(profile, &read, READER, &around, candidate);
}

static struct comm_candidate *of_thread(uint32_t thread, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (candidate[i].thread == thread)
			return &candidate[i];
	return NULL;
}

/* Of thread A; returns the level that is trusted. */
static uint32_t profile_at(uint64_t offset, uint32_t from)
{
	struct comm_candidate *c = of_thread(A, find(offset));
	uint32_t level;

	assert_non_null(c);
	if (!comm_candidate_profile(profile, &around, offset / WORD % 8, from, c, &level))
		return COMM_AREA_LEVELS;
	candidate[0] = *c;
	return level;
}

static bool near(double value, double expected)
{
	return fabs(value - expected) < 1e-5;
}

static void nobody(void **state)
{
	(void)state;
	reads(READER, 0, 1);
	learn();
	assert_int_equal(find(0), 0);
	assert_false(around.often);
	comm_candidates_label(profile, candidate, 0);
	assert_false(comm_candidates_wrote(candidate, 0));
	assert_true(comm_candidates_drop_coarse(candidate, 0) == 0);
	/* Of what was never met nothing is known. */
	assert_int_equal(comm_candidates_find(profile, &(struct comm_window_read){.object = 77},
					      READER, &around, candidate),
			 0);
}

static void who_writes_around(void **state)
{
	const struct comm_candidate *a, *b;

	(void)state;
	writes(A, WORD, 3);
	writes(B, FAR, 5);
	reads(READER, 0, 2);
	reads(B, 0, 1);
	learn();
	assert_int_equal(find(0), 2);
	a = of_thread(A, 2);
	b = of_thread(B, 2);
	for (uint32_t level = COMM_AREA_LINE; level < COMM_AREA_LEVELS; level++) {
		bool far = level < COMM_AREA_OBJECT - 1;

		assert_int_not_equal(a->actor[level], 0);
		assert_int_equal(!b->actor[level], far);
		assert_true(around.n[level] == (far ? 3 : 8));
		assert_true(around.weight[level] == (far ? 3 : 8));
	}
	/* Readers are told apart above lines. */
	assert_true(around.n_read[2] == 2 && around.weight_read[2] == 2 && around.n_reads[2] == 3);
	/* Two data of the line are in use. */
	assert_true(around.pieces[1] == 2);
	assert_false(around.often);
	reads(READER, 0, OFTEN - 3);
	comm_window_drop(window, n_learned);
	learn();
	find(0);
	assert_true(around.often);
	find(WORD);
	assert_false(around.often);
}

/* Of more threads than are weighed those stay that write nearest. */
static void too_many(void **state)
{
	(void)state;
	writes(A, 0, 1);
	for (uint32_t i = 0; i < 2 * COMM_CANDIDATES; i++)
		writes(B + i, FAR, 1);
	learn();
	assert_int_equal(find(0), COMM_CANDIDATES);
	assert_non_null(of_thread(A, COMM_CANDIDATES));
}

/* The shares of all data of a line are one; those written alike have the same. */
static void profile_of_a_line(void **state)
{
	double sum = 0, seen = 0;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		writes(A, i * WORD, i < 4 ? TRUSTED : 2);
	reads(READER, 6 * WORD, 1);
	reads(READER, 7 * WORD, 1);
	learn();
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(profile_at(i * WORD, COMM_AREA_LINE), COMM_AREA_LINE);
		sum += candidate->profile;
		assert_int_equal(candidate->level, i < 6 ? 0 : 1);
		assert_int_equal(comm_candidates_wrote(candidate, 1), i < 6);
		/* What it was not seen to write it may not write at all. */
		assert_true(i < 6 ? candidate->chance == 1 : candidate->chance < 0.1);
		assert_true(near(candidate->tail, candidate->profile * (4 * TRUSTED + 4)));
		if (i < 4)
			assert_true(seen == 0 || near(candidate->profile, seen));
		seen = candidate->profile;
	}
	assert_true(near(sum, 1));
	/* Without what is known of lines all data are as one that was not seen: worth a burst beside 36. */
	for (uint64_t i = 0; i < 8; i++) {
		profile_at(i * WORD, COMM_CANDIDATE_COARSE);
		assert_int_equal(candidate->level, COMM_AREA_LINE + 1);
		assert_true(near(candidate->profile, 1.0 / 37 / 8) && candidate->chance < 1);
	}
}

/* A line in which it was met seldom leans on the area around it, up to one where it was met often. */
static void back_off(void **state)
{
	double few;

	(void)state;
	writes(A, 0, TRUSTED / 2);
	writes(A, FAR, TRUSTED);
	reads(READER, WORD, 1);
	learn();
	assert_int_equal(profile_at(0, COMM_AREA_LINE), COMM_AREA_OBJECT - 1);
	assert_int_equal(candidate->level, 0);
	few = candidate->profile;
	/* A third of its writes are there, all of them of one datum. */
	assert_true(few > 0.25 && few < 1.0 / 3);
	profile_at(WORD, COMM_AREA_LINE);
	assert_int_equal(candidate->level, COMM_AREA_LINE);
	assert_true(candidate->profile < few / 4);
	writes(A, 0, TRUSTED);
	comm_window_drop(window, n_learned);
	learn();
	assert_int_equal(profile_at(0, COMM_AREA_LINE), COMM_AREA_LINE);
	assert_true(candidate->profile > 0.9);
}

/* Who writes all of an area at once writes all of its data alike, seen or not. */
static void profile_of_long_writes(void **state)
{
	const struct comm_access access = access_of(0, COVER, COMM_ACCESS_WRITE);

	(void)state;
	for (uint32_t i = 0; i < TRUSTED; i++)
		burst(A, &access, 1);
	reads(READER, 3 * WORD, 1);
	learn();
	assert_int_equal(profile_at(3 * WORD, COMM_AREA_LINE), COMM_AREA_LINE + 1);
	assert_true(candidate->chance == 1);
	assert_int_equal(candidate->level, COMM_AREA_LINE + 1);
	/* One line is in use, and one datum of it. */
	assert_true(near(candidate->profile, 1));
}

/* A vote of who writes nearer counts more. */
static void labels(void **state)
{
	uint32_t n;

	(void)state;
	writes(A, 0, TRUSTED);
	writes(B, FAR, MANY);
	reads(READER, WORD, 1);
	learn();
	n = find(WORD);
	comm_candidates_label(profile, candidate, n);
	assert_int_equal(n, 2);
	assert_true(near(candidate[0].label + candidate[1].label, 1));
	assert_true(of_thread(A, n)->label > 0.9);
	n = find(FAR);
	comm_candidates_label(profile, candidate, n);
	assert_true(of_thread(B, n)->label > 0.999);
	/* Of two that write alike both are as likely. */
	writes(B, 0, TRUSTED);
	comm_window_drop(window, n_learned);
	learn();
	n = find(WORD);
	comm_candidates_label(profile, candidate, n);
	assert_true(fabs(of_thread(A, n)->label - 0.5) < 0.05);
}

static void coarse_ones(void **state)
{
	(void)state;
	candidate[0] = (struct comm_candidate){.level = COMM_AREA_OBJECT, .share = 0.25};
	candidate[1] = (struct comm_candidate){.level = COMM_AREA_OBJECT - 1, .share = 0.5};
	assert_false(comm_candidates_wrote(candidate, 2));
	assert_true(comm_candidates_drop_coarse(candidate, 2) == 0.25);
	assert_true(candidate[0].share == 0 && candidate[1].share == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody),	TEST(who_writes_around),
		TEST(too_many), TEST(profile_of_a_line),
		TEST(back_off), TEST(profile_of_long_writes),
		TEST(labels),	TEST(coarse_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
