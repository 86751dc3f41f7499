// SPDX-License-Identifier: GPL-2.0-or-later
/* What windows are said to cost, against what made ones did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/window_cost.c"

enum { MS = 1000 * 1000 };

static struct comm_window_cost cost;
static uint64_t now_ns, spent_ns;

static int setup(void **state)
{
	(void)state;
	cost = (struct comm_window_cost){0};
	now_ns = 1000 * MS;
	spent_ns = 5 * MS; /* before */
	comm_window_cost_learn(&cost, false, now_ns, spent_ns);
	return 0;
}

static void pass(uint64_t ms, bool open, uint64_t more_ns)
{
	now_ns += ms * MS;
	spent_ns += more_ns;
	comm_window_cost_learn(&cost, open, now_ns, spent_ns);
}

static double more_ms(uint64_t length_ms)
{
	return comm_window_cost_more(&cost, now_ns, length_ms * MS) / MS;
}

/* A tenth of the time that any is open; what is spent while none is counts for nothing. */
static void test_learns(void **state)
{
	(void)state;
	pass(30, true, 3 * MS);
	assert_false(comm_window_cost_known(&cost));
	assert_float_equal(more_ms(1000), 0, 0);
	pass(500, false, 7 * MS);
	assert_false(comm_window_cost_known(&cost));
	pass(10, true, 1 * MS);
	assert_true(comm_window_cost_known(&cost));
	assert_float_equal(more_ms(1000), 100, 1e-9);
}

/* One more window costs for as long as none of the others is open. */
static void test_more(void **state)
{
	(void)state;
	pass(100, true, 10 * MS);
	comm_window_cost_open(&cost, now_ns, 300 * MS);
	comm_window_cost_open(&cost, now_ns, 20 * MS);
	assert_float_equal(more_ms(1000), 70, 1e-9);
	assert_float_equal(more_ms(300), 0, 0);
	pass(200, true, 20 * MS);
	assert_float_equal(more_ms(300), 20, 1e-9);
	pass(200, false, 0);
	assert_float_equal(more_ms(300), 30, 1e-9);
}

/* As long as can be paid; what others are open for costs nothing. */
static void test_length(void **state)
{
	(void)state;
	assert_true(isinf(comm_window_cost_length(&cost, now_ns, 1)));
	pass(100, true, 0);
	assert_true(isinf(comm_window_cost_length(&cost, now_ns, 1)));
	pass(100, true, 20 * MS);
	assert_float_equal(comm_window_cost_length(&cost, now_ns, 5 * MS), 50 * MS, 1e-3);
	comm_window_cost_open(&cost, now_ns, 300 * MS);
	assert_float_equal(comm_window_cost_length(&cost, now_ns, 5 * MS), 300 * MS, 1e-3);
	assert_float_equal(comm_window_cost_length(&cost, now_ns, 40 * MS), 400 * MS, 1e-3);
	assert_float_equal(comm_window_cost_length(&cost, now_ns + 400 * MS, 5 * MS), 50 * MS,
			   1e-3);
}

/* What was long ago counts for less and less. */
static void test_forgets(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++)
		pass(100, true, 50 * MS);
	for (int i = 0; i < 200; i++)
		pass(100, true, 1 * MS);
	assert_true(more_ms(1000) > 10 && more_ms(1000) < 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_learns, setup),
		cmocka_unit_test_setup(test_more, setup),
		cmocka_unit_test_setup(test_length, setup),
		cmocka_unit_test_setup(test_forgets, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
