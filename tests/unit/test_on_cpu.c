// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ids.h"
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

/* Threads come and go: those that have ended give way, and are known to be off a CPU. */
static void test_ended(void **state)
{
	enum { THREADS = 20000, LIFE_NS = 10 * 1000 * 1000 };
	struct comm_on_cpu *on_cpu;
	int refused = 0;

	(void)state;
	/* Half of it is for 32,768 threads, and rings of 256 bytes for the other half's 10,000. */
	assert_int_equal(comm_on_cpu_create(4 << 20, &on_cpu), 0);
	for (uint64_t i = 0; i < THREADS; i++)
		for (uint64_t k = 0; k < 4; k++)
			refused += comm_on_cpu_switch(on_cpu, i * LIFE_NS + k * STEP_NS,
						      (uint32_t)i, k % 2 == 0) != 0;
	/* The array of threads is doubled at once, and has to wait until there is room. */
	assert_true(refused < 100);
	for (uint32_t i = 0; i < THREADS; i += 1000) {
		uint64_t end_ns = (uint64_t)i * LIFE_NS + 3 * STEP_NS;

		assert_true(comm_on_cpu_at(on_cpu, i, end_ns) -
				    comm_on_cpu_at(on_cpu, i, end_ns - STEP_NS) >
			    0);
		assert_true(comm_on_cpu_at(on_cpu, i, end_ns + LIFE_NS) ==
			    comm_on_cpu_at(on_cpu, i, end_ns));
	}
	/* One of them was asleep only. */
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(comm_on_cpu_switch(on_cpu,
						    THREADS * (uint64_t)LIFE_NS + i * STEP_NS,
						    THREAD, i % 2 == 0),
				 0);
	assert_true(passed_ns(on_cpu, THREADS * (uint64_t)LIFE_NS,
			      THREADS * (uint64_t)LIFE_NS + 100 * STEP_NS) == 50 * STEP_NS);
	comm_on_cpu_destroy(on_cpu);
}

/* A place in the table of threads has another thread: the one before is over. */
static void test_place_given_again(void **state)
{
	enum { ROUNDS = 200, LATER = THREAD + ROUNDS * COMM_THREADS_MAX };
	struct comm_on_cpu *on_cpu;
	uint64_t since_ns;
	bool on;

	(void)state;
	/* Room for one ring of 1024 switches, which each of them fills. */
	assert_int_equal(comm_on_cpu_create(40 << 10, &on_cpu), 0);
	for (uint64_t r = 0; r <= ROUNDS; r++)
		for (uint64_t i = 0; i < COMM_ON_CPU_SWITCHES; i++)
			assert_int_equal(
				comm_on_cpu_switch(on_cpu, (r * COMM_ON_CPU_SWITCHES + i) * STEP_NS,
						   THREAD + (uint32_t)r * COMM_THREADS_MAX,
						   i % 2 == 0),
				0);
	assert_true(passed_ns(on_cpu, 5000, 7000) == 0);
	comm_on_cpu_now(on_cpu, THREAD, 10000, &on, &since_ns);
	assert_true(!on && since_ns == 10000);
	assert_true(comm_on_cpu_switch(on_cpu, ROUNDS * 2000000ull, THREAD, true) != 0);
	comm_on_cpu_now(on_cpu, LATER, (ROUNDS * COMM_ON_CPU_SWITCHES + 2) * STEP_NS, &on,
			&since_ns);
	assert_true(on && since_ns == 0);
	/* Of the next one nothing is known yet: it may run. */
	comm_on_cpu_now(on_cpu, LATER + COMM_THREADS_MAX, 10000, &on, &since_ns);
	assert_true(on);
	comm_on_cpu_destroy(on_cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_continuous),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_place_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
