// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "on_cpu.h"

enum { THREAD = 3, STEP_NS = 1000 };

static double passed_ns(const struct comm_on_cpu *on_cpu, uint64_t from_ns, uint64_t to_ns)
{
	return comm_on_cpu_at(on_cpu, THREAD, to_ns) - comm_on_cpu_at(on_cpu, THREAD, from_ns);
}

static void test_switches(void **state)
{
	struct comm_on_cpu *on_cpu;
	uint64_t since_ns;
	double now_ns;
	bool on;

	(void)state;
	assert_int_equal(comm_on_cpu_create(1 << 20, &on_cpu), 0);
	/* Without any switch events, a thread is taken to be running. */
	assert_true(passed_ns(on_cpu, 5000, 7000) == 2000);
	/* The thread is on a CPU for one step of three, from 100 * STEP_NS on. */
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(comm_on_cpu_switch(on_cpu, (100 + 3 * (i / 2) + i % 2) * STEP_NS,
						    THREAD, i % 2 == 0),
				 0);
	assert_true(passed_ns(on_cpu, 100 * STEP_NS, 190 * STEP_NS) == 30 * STEP_NS);
	now_ns = comm_on_cpu_now(on_cpu, THREAD, 106 * STEP_NS + 400, &on, &since_ns);
	assert_true(on && since_ns == 400);
	assert_true(now_ns == comm_on_cpu_at(on_cpu, THREAD, 106 * STEP_NS + 400));
	comm_on_cpu_destroy(on_cpu);
}

/* Whether switches are known or not comes and goes: the clock never jumps. */
static void test_continuous(void **state)
{
	struct comm_on_cpu *on_cpu;
	double last_ns = 0;

	(void)state;
	assert_int_equal(comm_on_cpu_create(1 << 20, &on_cpu), 0);
	for (uint64_t i = 1; i < 4000; i++) {
		uint64_t time_ns = 1000000000 + i * STEP_NS;
		double now_ns;

		if (i % 1000 == 999)
			comm_on_cpu_forget(on_cpu, time_ns);
		else if (i % 1000 > 500 && i % 3)
			assert_int_equal(comm_on_cpu_switch(on_cpu, time_ns, THREAD, i % 3 == 1),
					 0);
		now_ns = comm_on_cpu_at(on_cpu, THREAD, time_ns);
		if (i > 1)
			assert_true(now_ns >= last_ns && now_ns <= last_ns + STEP_NS);
		last_ns = now_ns;
	}
	comm_on_cpu_destroy(on_cpu);
}

/* A switch for which there is no room is refused, and its thread runs all the time. */
static void test_bound(void **state)
{
	struct comm_on_cpu *on_cpu;

	(void)state;
	assert_int_equal(comm_on_cpu_create(1 << 12, &on_cpu), 0);
	assert_int_equal(comm_on_cpu_switch(on_cpu, STEP_NS, 1000, false), -ENOMEM);
	assert_true(passed_ns(on_cpu, STEP_NS, 5 * STEP_NS) == 4 * STEP_NS);
	comm_on_cpu_destroy(on_cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_continuous),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
