// SPDX-License-Identifier: GPL-2.0-or-later
/* Learned: what reads of data whose writer was seen tell of all others. */
#include "learned.h"
#include "made_profile.h"

enum {
	A = 2, /* writes the first half of each line */
	B = 3, /* and the other half */
	HALF = COMM_AREA_CHILDREN / 2,
	TIMES = 10,
	MANY = 400, /* bursts, of which all are looked at */
};

static struct comm_learned learned;

static int setup_learned(void **state)
{
	const struct comm_est_config config = {.granularity_bytes = WORD};

	return setup(state) || comm_learned_init(&learned, &config, profile);
}

static int teardown_learned(void **state)
{
	comm_learned_deinit(&learned);
	learned = (struct comm_learned){0};
	/* There is nothing to be done for one that is zeroed. */
	comm_learned_deinit(&learned);
	return teardown(state);
}

/* Two threads write a half of a line each. */
static void write_halves(void)
{
	for (uint32_t i = 0; i < HALF; i++) {
		writes(A, i * WORD, 1);
		writes(B, (HALF + i) * WORD, 1);
	}
}

/* A thread reads a half of the line. */
static void read_half(uint32_t thread, uint32_t half)
{
	for (uint32_t i = 0; i < HALF; i++)
		reads(thread, (half * HALF + i) * WORD, TIMES);
}

static void take(void)
{
	learn();
	comm_learned_take(&learned, window, n_learned);
}

static double factor(bool itself)
{
	return comm_own_reads_factor(learned.own, OBJECT, itself);
}

static bool met(uint32_t src_site, uint32_t dst_site)
{
	const struct comm_code_pair pair = {src_site, dst_site, OBJECT};

	return comm_code_pairs_known(learned.code_pairs, &pair);
}

static void nothing(void **state)
{
	(void)state;
	take();
	assert_true(factor(true) == 1 && factor(false) == 1);
	/* Data that nobody was seen to write tell nothing, nor do writes alone. */
	reads(A, 0, TIMES);
	writes(A, LINE, TIMES);
	take();
	assert_true(factor(true) == 1 && factor(false) == 1);
	assert_false(met(SITE_W, SITE_R));
}

/* Half of what is written there is each one's, and all that it reads: twice as much as its surroundings say. */
static void own_data(void **state)
{
	(void)state;
	write_halves();
	read_half(A, 0);
	read_half(B, 1);
	take();
	assert_true(fabs(factor(true) - 2) < 0.1);
	assert_true(factor(false) < 0.05);
	/* What is told by time fades. */
	for (int i = 0; i < TIMES; i++)
		comm_learned_halve(&learned);
	comm_window_drop(window, n_learned);
	read_half(A, 1);
	read_half(B, 0);
	take();
	assert_true(factor(true) < 0.1);
}

static void data_of_others(void **state)
{
	(void)state;
	write_halves();
	read_half(A, 1);
	read_half(B, 0);
	take();
	assert_true(factor(true) < 0.05);
	assert_true(fabs(factor(false) - 2) < 0.1);
}

/* What was written once tells of what nobody was seen to write; what is written all the time tells as much less. */
static void written_once(void **state)
{
	(void)state;
	writes(A, 0, TIMES);
	writes(B, LINE, 1);
	reads(A, 0, TIMES);
	reads(A, LINE, TIMES);
	take();
	assert_true(factor(true) < 0.6);
	comm_window_drop(window, n_learned);
	reads(A, 0, TIMES * TIMES);
	take();
	assert_true(factor(true) > 1.5);
}

/* Of a datum that both write alike half is each one's, as of all around it. */
static void data_of_both(void **state)
{
	(void)state;
	writes(A, 0, TIMES);
	writes(B, 0, TIMES);
	reads(A, 0, TIMES);
	reads(B, 0, TIMES);
	take();
	assert_true(fabs(factor(true) - 1) < 0.05 && fabs(factor(false) - 1) < 0.05);
}

/* What a burst reads and then writes is not its own: that was sampled because the read was. */
static void without_own_writes(void **state)
{
	const struct comm_access pass_on[] = {access_of(0, WORD, COMM_ACCESS_READ),
					      access_of(0, WORD, COMM_ACCESS_WRITE)};

	(void)state;
	burst(A, pass_on, 2);
	take();
	assert_true(factor(true) == 1);
	assert_false(met(SITE_W, SITE_R));
	/* The profile has it. */
	assert_true(actor_of(A, 0, COMM_AREA_LINE)->n == 1);
	assert_true(actor_of(A, 0, COMM_AREA_LINE)->word[0] == 1);
	/* What other bursts wrote is met there. */
	comm_window_drop(window, n_learned);
	for (int i = 0; i < TIMES; i++)
		burst(B, pass_on, 2);
	take();
	assert_true(met(SITE_W, SITE_R));
	assert_true(actor_of(B, 0, COMM_AREA_LINE)->n == TIMES);
}

/* A read behind the burst's own write of the datum is settled. */
static void settled_reads(void **state)
{
	const struct comm_access back[] = {access_of(0, WORD, COMM_ACCESS_WRITE),
					   access_of(0, WORD, COMM_ACCESS_READ)};

	(void)state;
	for (int i = 0; i < TIMES; i++)
		burst(A, back, 2);
	take();
	assert_true(factor(true) == 1);
	assert_false(met(SITE_W, SITE_R));
}

/* Code meets at one datum, and not by what stands beside it. */
static void code_that_meets(void **state)
{
	struct comm_access beside = access_of(WORD, WORD, COMM_ACCESS_WRITE);

	(void)state;
	beside.site = SITE_W + 1;
	burst(A, &beside, 1);
	writes(A, 0, 1);
	reads(B, 0, 1);
	take();
	assert_true(met(SITE_W, SITE_R));
	assert_false(met(SITE_W + 1, SITE_R));
	assert_false(met(SITE_W, SITE_R + 1));
}

/* Of a line that is written over and over one half is, and of the other nothing: by what is read. */
static void what_is_written(void **state)
{
	double unknown = comm_write_profile_written(profile, OBJECT);

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		writes(A, i % HALF * WORD, 1);
	reads(B, (HALF + 1) * WORD, MANY);
	take();
	assert_true(comm_write_profile_written(profile, OBJECT) < unknown / 4);
	comm_window_drop(window, n_learned);
	for (int i = 0; i < TIMES; i++) {
		reads(B, WORD, MANY);
		take();
		comm_window_drop(window, n_learned);
	}
	assert_true(comm_write_profile_written(profile, OBJECT) > unknown / 2);
}

/* Data that would not have been seen to be written tell nothing, nor do many reads beside few writes. */
static void what_tells_little(void **state)
{
	double unknown = comm_write_profile_written(profile, OBJECT);

	(void)state;
	for (uint32_t i = 0; i < TIMES; i++) {
		writes(A, i * LINE, 1);
		reads(B, i * LINE + WORD, TIMES);
	}
	take();
	assert_true(fabs(comm_write_profile_written(profile, OBJECT) - unknown) < 1e-6);
	comm_window_drop(window, n_learned);
	writes(A, 0, 2);
	reads(B, WORD, MANY);
	take();
	assert_true(comm_write_profile_written(profile, OBJECT) > unknown / 2);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_learned, teardown_learned)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing),	       TEST(own_data),
		TEST(data_of_others),  TEST(without_own_writes),
		TEST(settled_reads),   TEST(code_that_meets),
		TEST(what_is_written), TEST(what_tells_little),
		TEST(data_of_both),    TEST(written_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
