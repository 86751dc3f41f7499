// SPDX-License-Identifier: GPL-2.0-or-later
/* Competing hazards: which of several threads wrote last, by the time that each ran. */
#include "made_writers.h"

static void nobody_writes(void **state)
{
	(void)state;
	assert_true(run(0, 0, -1) == 1);
	assert_true(run(0, 0, 0.8) == 1);
	rates(0, 0);
	assert_true(run(2, 0, -1) == 1);
	assert_true(candidate[0].share == 0 && candidate[1].share == 0);
	comm_compete_destroy(NULL);
}

/* Of two that run all the time each has the part that its rate is of both. */
static void by_rates(void **state)
{
	double left;

	(void)state;
	rates(once, 0);
	left = run(1, 0, -1);
	assert_true(near(left, exp(-1)) && near(candidate[0].share, 1 - exp(-1)));
	assert_true(near(first, 1));
	rates(3 * once, once);
	left = run(2, 0, -1);
	assert_true(near(left + candidate[0].share + candidate[1].share, 1));
	assert_true(near(candidate[0].share / candidate[1].share, 3));
}

/* Who ran last wrote last, however often the other wrote before. */
static void by_turns(void **state)
{
	double b = 1 - exp(-once * LATE);

	(void)state;
	take_turns();
	rates(often, once);
	run(2, 0, -1);
	assert_true(near(candidate[1].share, b));
	assert_true(fabs(candidate[0].share - (1 - b)) < 0.003);
	rates(once, often);
	run(2, 0, -1);
	assert_true(candidate[1].share > 0.997 && candidate[0].share < 0.003);
}

/* Both of them have run before, and neither since the beginning. */
static void nobody_ran(void **state)
{
	(void)state;
	assert_int_equal(comm_on_cpu_switch(on_cpu, START - US, A, false), 0);
	assert_int_equal(comm_on_cpu_switch(on_cpu, START - US, B, false), 0);
	rates(often, often);
	assert_true(run(2, 0, -1) == 1);
	assert_true(run(2, 0, 0.8) == 1);
	assert_true(candidate[0].share == 0 && candidate[1].share == 0);
}

/* Thread B begins to run after the read, and writes around the datum then. */
static void not_yet(void **state)
{
	(void)state;
	assert_int_equal(comm_on_cpu_switch(on_cpu, START - US, B, false), 0);
	assert_int_equal(comm_on_cpu_switch(on_cpu, NOW + US, B, true), 0);
	rates(once, often);
	assert_true(near(run(2, 0, -1), exp(-1)));
	assert_true(candidate[1].share == 0);
	rates(often, often);
	/* Of 0.4 + 0.2 two thirds are left to A. */
	assert_true(near(run(2, 0, 0.8), 1.0 / 3));
	assert_true(near(candidate[0].share, 2.0 / 3) && candidate[1].share == 0);
	rates(often, often);
	candidate[0].thread = B;
	assert_true(run(1, 0, 0.8) == 1);
	assert_true(candidate[0].share == 0);
}

/* One read after the other is asked of, an earlier one among them. */
static void at_another_time(void **state)
{
	(void)state;
	take_turns();
	rates(once, once);
	assert_true(near(run(2, 0, -1), exp(-1)));
	comm_compete_at(compete, NOW - 2 * LATE, NULL);
	rates(once, once);
	assert_true(near(run(2, 0, -1), exp(-0.5)));
	assert_true(candidate[1].share == 0);
}

/* A thread that has stopped writing counts with the time before alone. */
static void by_activity(void **state)
{
	(void)state;
	rates(once, 0);
	candidate[0].since_ns = SPAN - LATE;
	candidate[0].active = 0;
	assert_true(near(run(1, 0, -1), exp(-once * LATE)));
	rates(once, 0);
	candidate[0].since_ns = SPAN - LATE;
	candidate[0].active = 0.5;
	assert_true(near(run(1, 0, -1), exp(-once * (LATE + (SPAN - LATE) / 2))));
}

/* One that may not write the datum at all is never certain to have: half of the time it does so twice as often. */
static void by_chance(void **state)
{
	(void)state;
	rates(once, 0);
	candidate[0].chance = 0.5;
	candidate[0].most = -log(0.5);
	assert_true(near(run(1, 0, -1), 0.5 + 0.5 * exp(-2)));
	rates(often, 0);
	candidate[0].chance = 0.5;
	candidate[0].most = -log(0.5);
	assert_true(near(run(1, 0, -1), 0.5));
}

/* What nobody was seen to write is of who writes around it, whoever ran last. */
static void by_label(void **state)
{
	(void)state;
	take_turns();
	rates(often, often);
	candidate[0].label = 0.75;
	candidate[1].label = 0.25;
	assert_true(near(run(2, 0, 0.8), 0.2));
	assert_true(near(candidate[0].share, 0.6) && near(candidate[1].share, 0.2));
	/* A reader that reads nothing of A's: of 0.2 + 0.2 half is left to B. */
	rates(often, often);
	candidate[0].label = 0.75;
	candidate[1].label = 0.25;
	candidate[0].factor = 0;
	assert_true(near(run(2, 0, 0.8), 0.5));
	assert_true(candidate[0].share == 0 && near(candidate[1].share, 0.5));
	/* There was no time to write it: one write is due since the beginning. */
	rates(once, 0);
	candidate[0].label = 1;
	assert_true(near(run(1, 0, 0.8), 1 - 0.8 * (1 - exp(-once * (SPAN - LATE)))));
}

/* Who reads four times for each write finds it new once in four times. */
static void first_reads(void **state)
{
	(void)state;
	rates(often, 0);
	run(1, 4 * often, -1);
	assert_true(fabs(first - 0.25) < 0.01);
	rates(often, 0);
	run(1, often, -1);
	assert_true(first > 0.9 && first < 1);
	rates(often, 0);
	run(1, often / 4, -1);
	assert_true(first > 0.99 && first <= 1);
	/* The reader did not run since. */
	take_turns();
	assert_int_equal(comm_on_cpu_switch(on_cpu, NOW - LATE, READER, false), 0);
	comm_compete_at(compete, NOW, NULL);
	rates(0, often);
	run(2, 4 * often, -1);
	assert_true(first > 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_writes), TEST(by_rates),	    TEST(by_turns),    TEST(nobody_ran),
		TEST(not_yet),	     TEST(at_another_time), TEST(by_activity), TEST(by_chance),
		TEST(by_label),	     TEST(first_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
