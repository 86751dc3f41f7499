// SPDX-License-Identifier: GPL-2.0-or-later
/* Candidates: the code that a thread's writes of a datum are of. */
#include "candidate.h"
#include "made_profile.h"

enum {
	A = 2,
	SITES = 6,
	FAR = 1 << 16, /* bytes: another area but that of 256 KiB */
	COVER = 2048,  /* bytes of a long write, which is noted by areas of 512 */
};

static struct comm_candidate candidate;
static uint32_t site[COMM_ACTOR_SITES];
static double part[COMM_ACTOR_SITES];
static bool seen;

static void write_by(uint32_t by, uint64_t offset, uint32_t size_bytes, uint32_t n)
{
	struct comm_access access = access_of(offset, size_bytes, COMM_ACCESS_WRITE);

	access.site = by;
	for (uint32_t i = 0; i < n; i++)
		burst(A, &access, 1);
}

/* The code of thread A's writes of a datum. */
static uint32_t code_of(uint64_t offset)
{
	candidate = (struct comm_candidate){.thread = A};
	for (uint32_t level = COMM_AREA_LINE; level < COMM_AREA_LEVELS; level++) {
		uint32_t area = area_of(offset, level);

		if (area)
			candidate.actor[level] = comm_actor_find(areas, area, A, false);
	}
	return comm_candidate_sites(areas, &candidate, offset / WORD % 8, &seen, site, part);
}

static double part_of(uint32_t n, uint32_t of)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += site[i] == of ? part[i] : 0;
	return sum;
}

static bool near(double value, double expected)
{
	return fabs(value - expected) < 1e-5;
}

static void nothing_is_seen(void **state)
{
	(void)state;
	assert_int_equal(code_of(0), 0);
	assert_false(seen);
}

/* What stands beside the datum is other code's business, unless nothing is known of the datum. */
static void by_datum(void **state)
{
	uint32_t n;

	(void)state;
	write_by(SITE_W, 0, WORD, 3);
	write_by(SITE_W + 1, WORD, WORD, 1);
	write_by(SITE_W + 2, FAR, WORD, 9);
	learn();
	assert_int_equal(code_of(0), 1);
	assert_true(seen && site[0] == SITE_W && part[0] == 1);
	assert_int_equal(code_of(WORD), 1);
	assert_true(seen && site[0] == SITE_W + 1);
	n = code_of(2 * WORD);
	assert_int_equal(n, 2);
	assert_false(seen);
	assert_true(near(part_of(n, SITE_W), 0.75) && near(part_of(n, SITE_W + 1), 0.25));
	/* Of another line the nearest area tells that has any. */
	n = code_of(LINE);
	assert_false(seen);
	assert_true(near(part_of(n, SITE_W), 0.75) && near(part_of(n, SITE_W + 1), 0.25));
}

/* Who wrote the whole area wrote the datum, as often as each other of it. */
static void by_long_writes(void **state)
{
	uint32_t n;

	(void)state;
	write_by(SITE_W, 0, WORD, 1);
	write_by(SITE_W + 1, 0, COVER, 3);
	write_by(SITE_W + 2, WORD, WORD, 9);
	learn();
	n = code_of(0);
	assert_true(seen);
	assert_int_equal(n, 2);
	assert_true(near(part_of(n, SITE_W), 0.25) && near(part_of(n, SITE_W + 1), 0.75));
	n = code_of(4 * LINE);
	assert_true(seen);
	assert_int_equal(n, 1);
	assert_int_equal(site[0], SITE_W + 1);
	n = code_of(2 * WORD);
	assert_true(seen && n == 1 && site[0] == SITE_W + 1);
}

/* Of more code than is kept the heaviest stays, and the parts are still of one whole. */
static void by_many(void **state)
{
	double sum = 0;
	uint32_t n;

	(void)state;
	for (uint32_t i = 0; i < COMM_ACTOR_SITES; i++)
		write_by(SITE_W + i, 0, WORD, 1 + i);
	write_by(SITE_W + SITES, 0, COVER, 20);
	learn();
	n = code_of(0);
	assert_int_equal(n, COMM_ACTOR_SITES);
	assert_true(near(part_of(n, SITE_W), 0));
	assert_true(near(part_of(n, SITE_W + SITES), 20.0 / 29));
	for (uint32_t i = 0; i < n; i++)
		sum += part[i];
	assert_true(near(sum, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_seen),
		TEST(by_datum),
		TEST(by_long_writes),
		TEST(by_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
