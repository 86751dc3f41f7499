// SPDX-License-Identifier: GPL-2.0-or-later
/* Competing hazards: when the writers wrote, in time and in frames, and for how long threads ran. */
#include "made_writers.h"

#define SECOND 1000000000LL

enum {
	THREADS = 4096, /* whose times are kept */
	ASKED = 190,	/* threads, at one read */
};

/* When each wrote is when it ran. */
static void ages(void **state)
{
	uint32_t late = comm_age_bin(LATE);

	(void)state;
	take_turns();
	rates(often, once);
	run(2, 0, -1);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(near(comm_ages_sum(&candidate[i].ages), 1));
	assert_true(near(candidate[0].ages.bytes[late], 1));
	assert_true(candidate[1].ages.bytes[late] == 0);
	/* Three quarters of the time before that lie in its oldest quarters. */
	assert_true(near(candidate[1].ages.bytes[late - 1],
			 (1 - exp(-0.25 * 0.75)) * exp(-0.25 * 0.25) / (1 - exp(-0.25))));
	assert_true(candidate[0].ages.back[0] == 0 && candidate[1].ages.back[0] == 0);
}

/* Of what was written seconds ago, too: in two of the last ten, in which a write is as likely. */
static void ages_of_seconds(void **state)
{
	(void)state;
	comm_compete_span(compete, START, 20 * SECOND);
	comm_compete_at(compete, 20 * SECOND, NULL);
	comm_on_cpu_switch(on_cpu, START - US, A, false);
	comm_on_cpu_switch(on_cpu, 10 * SECOND, A, true);
	comm_on_cpu_switch(on_cpu, 11 * SECOND, A, false);
	rates(often, 0);
	run(1, 0, -1);
	assert_true(near(candidate[0].ages.bytes[comm_age_bin(9 * SECOND)], 1));
	comm_on_cpu_switch(on_cpu, 14 * SECOND, A, true);
	comm_on_cpu_switch(on_cpu, 15 * SECOND, A, false);
	comm_compete_at(compete, 20 * SECOND, NULL);
	rates(0.01 / SECOND, 0);
	run(1, 0, -1);
	assert_true(fabs(candidate[0].ages.bytes[comm_age_bin(9 * SECOND)] - 0.5) < 0.01);
	assert_true(fabs(candidate[0].ages.bytes[comm_age_bin(5 * SECOND)] - 0.5) < 0.01);
}

/* A frame is told of where both what was seen of the datum and what was seen around it are of it. */
static void frames(void **state)
{
	const struct comm_frame_at at = {.began_ns = LATE, .before_ns = 2 * LATE};
	double before = 1 - exp(-once * LATE), earlier = exp(-once * LATE) - exp(-0.75);

	(void)state;
	take_turns();
	comm_compete_at(compete, NOW, &at);
	rates(once, once);
	for (uint32_t i = 0; i < 2; i++)
		candidate[i].seen_ns = candidate[i].seen_around_ns = comm_on_cpu_at(
			on_cpu, candidate[i].thread, i ? NOW - LATE / 2 : NOW - LATE - US);
	run(2, 0, -1);
	assert_true(near(candidate[1].ages.back[0], 1) && candidate[1].ages.back[1] == 0);
	assert_true(near(candidate[0].ages.back[1], before / (before + earlier)));
	assert_true(candidate[0].ages.back[0] == 0 && candidate[0].ages.back[2] == 0);
	rates(once, once);
	candidate[0].seen_ns = comm_on_cpu_at(on_cpu, A, NOW - LATE - US);
	candidate[0].seen_around_ns = comm_on_cpu_at(on_cpu, A, NOW - 3 * LATE);
	run(2, 0, -1);
	for (int i = 0; i < COMM_AGES_BACK; i++)
		assert_true(candidate[0].ages.back[i] == 0 && candidate[1].ages.back[i] == 0);
}

/* The times of more threads than are kept, each of which has run for so many us. */
static void times(void **state)
{
	const struct comm_compete_time *time;

	(void)state;
	for (uint32_t i = 1; i <= 2 * ASKED; i++) {
		uint32_t thread = i / 8 + i % 8 * THREADS;

		assert_int_equal(comm_on_cpu_switch(on_cpu, START, thread, true), 0);
		assert_int_equal(comm_on_cpu_switch(on_cpu, START + i * US, thread, false), 0);
	}
	for (uint32_t turn = 0; turn < 2 * ASKED * 3; turn++) {
		uint32_t i = turn % (2 * ASKED) + 1, thread = i / 8 + i % 8 * THREADS;

		if (turn % ASKED == 0)
			comm_compete_at(compete, START + ASKED * US, NULL);
		time = comm_compete_time(compete, thread);
		assert_true(time->end_ns - time->start_ns == i * US);
		assert_true(time->now_ns - time->start_ns == (i < ASKED ? i : ASKED) * US);
	}
	comm_compete_span(compete, START + US, NOW);
	comm_compete_at(compete, NOW, NULL);
	time = comm_compete_time(compete, THREADS);
	assert_true(time->start_ns == time->end_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ages),
		TEST(ages_of_seconds),
		TEST(frames),
		TEST(times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
