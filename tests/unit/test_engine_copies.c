// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine: what a kernel copy stands for. */
#include "made_engine.h"
#include "timing.h"

static void kernel_copies_are_the_kernels(void **state)
{
	(void)state;
	give_precise(COMM_EV_KCOPY, HEAP, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL);
	assert_int_equal(world.access[0].site, COMM_SITE_KERNEL);
	assert_false(world.burst.exact);
	assert_true(world.burst.cycles > 0 && world.access[0].cycle > 0 &&
		    world.access[0].cycle < world.burst.cycles);
}

/* As many as were counted, or by the time that such a copy takes. */
static void kernel_reads_are_counted(void **state)
{
	struct comm_event read = {.kind = COMM_EV_KCOPY,
				  .time_ns = START,
				  .tgid = TGID,
				  .tid = SECOND,
				  .access = {.addr = HEAP,
					     .size_bytes = 1200,
					     .flags = COMM_ACCESS_READ | COMM_ACCESS_KERNEL,
					     .period = 40}};

	(void)state;
	give(&read);
	assert_int_equal(world.access[0].site, COMM_SITE_KERNEL);
	assert_int_equal(world.access[0].flags & (COMM_ACCESS_READ | COMM_ACCESS_WRITE),
			 COMM_ACCESS_READ);
	assert_true(world.burst.exact && world.burst.period == 40);
	read.access.period = 0;
	give(&read);
	assert_false(world.burst.exact);
	assert_true(world.burst.cycles == 200 * COMM_TIMING_SLOWDOWN &&
		    world.access[0].cycle == world.burst.cycles / 2);
	read.access.period = 9000;
	read.access.flags |= COMM_ACCESS_BY_TIME;
	give(&read);
	assert_true(!world.burst.exact && world.burst.period == 9000);
}

/* A piece of what was sent stands for its part of the call, all pieces together for about one. */
static void a_call_that_sends_is_counted_once(void **state)
{
	struct comm_event read = {
		.kind = COMM_EV_KCOPY,
		.time_ns = START,
		.tgid = TGID,
		.tid = SECOND,
		.access = {.addr = HEAP,
			   .size_bytes = 200,
			   .flags = COMM_ACCESS_READ | COMM_ACCESS_KERNEL | COMM_ACCESS_BY_TIME,
			   .period = 9000,
			   .call_bytes = 200}};
	float alone;

	(void)state;
	give(&read);
	alone = world.burst.cycles;
	read.access.call_bytes = 200 * 10;
	give(&read);
	assert_true(world.burst.cycles < alone / 2 && world.burst.cycles > alone / 10);
	read.access.size_bytes = read.access.call_bytes = 1 << 20;
	give(&read);
	assert_true(world.burst.cycles > 10 * alone);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(kernel_copies_are_the_kernels),
		TEST(kernel_reads_are_counted),
		TEST(a_call_that_sends_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
