// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads per write: of one reader and of all, and whether each write is read once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "reads_per_write.h"

enum { READER = 2, OTHER_READER = 3, OBJECT = 5, OTHER_OBJECT = 6, FEW = 10, MANY = 3000 };

static struct comm_reads_per_write *learned;

static int setup(void **state)
{
	(void)state;
	return comm_reads_per_write_create(&learned);
}

static int teardown(void **state)
{
	(void)state;
	comm_reads_per_write_destroy(learned);
	return 0;
}

/* So many bursts of each kind, in each of which an access counts once for each write. */
static void learn(uint32_t reader, uint32_t object, float reads_per_write, uint32_t bursts)
{
	const struct comm_reads_per_write_count around = {
		.reads = reads_per_write, .writes = 1, .n_reads = 1, .n_writes = 1};

	for (uint32_t i = 0; i < bursts; i++)
		comm_reads_per_write_add(learned, reader, object, &around);
}

static double ratio_of(uint32_t reader, uint32_t object)
{
	const struct comm_reads_per_write_count count =
		comm_reads_per_write_of(learned, reader, object);

	return comm_reads_per_write_ratio(&count);
}

static double once(float reads, float writes, float bursts)
{
	const struct comm_reads_per_write_count count = {
		.reads = reads, .writes = writes, .n_reads = bursts, .n_writes = bursts};

	return comm_reads_per_write_once(&count);
}

static void nothing_is_known(void **state)
{
	const struct comm_reads_per_write_count count =
		comm_reads_per_write_of(learned, READER, OBJECT);

	(void)state;
	assert_true(count.reads == 0 && count.writes == 0);
	assert_true(count.n_reads == 0 && count.n_writes == 0);
	assert_true(ratio_of(READER, OBJECT) == 0);
	assert_true(once(0, 0, 0) == 0);
	comm_reads_per_write_destroy(NULL);
}

/* Of reads alone, or of writes alone, there is no ratio. */
static void one_side_alone(void **state)
{
	const struct comm_reads_per_write_count reads = {.reads = 4, .n_reads = 4};
	const struct comm_reads_per_write_count writes = {.writes = 4, .n_writes = 4};

	(void)state;
	assert_true(comm_reads_per_write_ratio(&reads) == 0);
	assert_true(comm_reads_per_write_once(&reads) == 0);
	assert_true(comm_reads_per_write_ratio(&writes) == 0);
	assert_true(comm_reads_per_write_once(&writes) == 0);
	comm_reads_per_write_add(learned, READER, OBJECT, &reads);
	assert_true(ratio_of(READER, OBJECT) == 0);
	comm_reads_per_write_add(learned, READER, OBJECT, &writes);
	assert_true(ratio_of(READER, OBJECT) == 1);
}

static void a_reader_alone(void **state)
{
	(void)state;
	learn(READER, OBJECT, 3, FEW);
	assert_true(fabs(ratio_of(READER, OBJECT) - 3) < 1e-6);
	assert_true(ratio_of(READER, OTHER_OBJECT) == 0);
}

/* Who has read little reads as others of the object do, and who was never met, too. */
static void few_lean_on_all(void **state)
{
	(void)state;
	learn(OTHER_READER, OBJECT, 1, MANY);
	assert_true(fabs(ratio_of(READER, OBJECT) - 1) < 1e-6);
	learn(READER, OBJECT, 4, FEW);
	assert_true(ratio_of(READER, OBJECT) > 1 && ratio_of(READER, OBJECT) < 1.2);
}

/* All count for no more than was seen of them: 50 at 4 and 100 at 2.5. */
static void few_of_all(void **state)
{
	(void)state;
	learn(READER, OBJECT, 4, 50);
	learn(OTHER_READER, OBJECT, 1, 50);
	assert_true(fabs(ratio_of(READER, OBJECT) - 3) < 1e-6);
}

/* A reader that was met often has its own ratio for the most part. */
static void many_are_its_own(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		learn(READER, OBJECT, 4, 1);
		learn(OTHER_READER, OBJECT, 1, 1);
	}
	assert_true(ratio_of(READER, OBJECT) > 3 && ratio_of(READER, OBJECT) < 4);
	assert_true(ratio_of(OTHER_READER, OBJECT) > 1 && ratio_of(OTHER_READER, OBJECT) < 2);
}

/* A ratio that has changed is that of late. */
static void the_past_fades(void **state)
{
	(void)state;
	learn(READER, OBJECT, 1, 10 * MANY);
	learn(READER, OBJECT, 4, 10 * MANY);
	assert_true(ratio_of(READER, OBJECT) > 3.9);
}

/* As many reads as writes tell that each is read once, by how much was seen. */
static void read_once(void **state)
{
	(void)state;
	assert_true(once(MANY, MANY, MANY) > 0.9);
	assert_true(once(4 * MANY, MANY, MANY) < 0.01);
	/* Half as many reads are as far from it as twice as many. */
	assert_true(fabs(once(2 * MANY, MANY, MANY) - once(MANY, 2 * MANY, MANY)) < 1e-6);
	/* Accesses of two bursts may be four times as many by chance. */
	assert_true(once(8, 2, 2) > 0.3);
	assert_true(once(8, 2, 2) < once(2, 2, 2));
	/* Of less than a burst nothing is told. */
	assert_true(once(1, 1, 0.5f) == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_known), TEST(one_side_alone), TEST(a_reader_alone),
		TEST(few_lean_on_all),	TEST(few_of_all),     TEST(many_are_its_own),
		TEST(the_past_fades),	TEST(read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
