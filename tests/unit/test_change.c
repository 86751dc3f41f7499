// SPDX-License-Identifier: GPL-2.0-or-later
/* Verdicts of commctl diff: right ones, and how often a false one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "change.h"

#define ALARM 0.05

static struct ctl_flow flow(double value, double factor)
{
	return (struct ctl_flow){value, value / factor, value * factor, true, 20};
}

static struct ctl_change change(struct ctl_flow first, struct ctl_flow second, double exposure)
{
	struct ctl_change ret;

	ctl_change_of(&first, &second, exposure, ALARM, 1.5, &ret);
	return ret;
}

static void test_verdicts(void **state)
{
	struct ctl_change c;

	(void)state;
	c = change(flow(100, 1.5), flow(400, 1.5), 1);
	assert_int_equal(c.verdict, CTL_MORE);
	assert_float_equal(c.ratio, 4, 1e-9);
	/* Half-widths add as squares: exp(sqrt(2) ln 1.5). */
	assert_float_equal(c.low, 4 / 1.774, 0.01);
	assert_float_equal(c.high, 4 * 1.774, 0.01);
	assert_int_equal(change(flow(400, 1.5), flow(100, 1.5), 1).verdict, CTL_LESS);
	assert_int_equal(change(flow(100, 1.2), flow(105, 1.2), 1).verdict, CTL_SAME);
	assert_int_equal(change(flow(100, 1.5), flow(150, 1.5), 1).verdict, CTL_CANNOT_TELL);
	/* Counts: what is certain, but within the margin, is the same. */
	assert_int_equal(change(flow(100, 1), flow(101, 1), 1).verdict, CTL_SAME);
	assert_int_equal(change(flow(100, 1), flow(200, 1), 1).verdict, CTL_MORE);
}

static void test_resolved_by_neither(void **state)
{
	struct ctl_flow first = flow(100, 1.5), second = flow(4000, 1.5);

	(void)state;
	first.resolved = second.resolved = false;
	assert_int_equal(change(first, second, 1).verdict, CTL_CANNOT_TELL);
	second.resolved = true;
	assert_int_equal(change(first, second, 1).verdict, CTL_MORE);
}

static void test_gone_and_new(void **state)
{
	struct ctl_flow none = {0}, few = flow(100, 1.5);
	struct ctl_change c;

	(void)state;
	c = change(flow(100, 1.5), none, 1);
	assert_int_equal(c.verdict, CTL_LESS);
	assert_true(c.ratio == 0 && c.low == 0 && c.high > 0 && c.high < 1);
	c = change(none, flow(100, 1.5), 1);
	assert_int_equal(c.verdict, CTL_MORE);
	assert_true(isinf(c.ratio) && c.low > 1);
	/* Seen twice, and the other run was as long: that may be chance. */
	few.seen = 2;
	assert_int_equal(change(few, none, 1).verdict, CTL_CANNOT_TELL);
	/* A second run of a tenth of the bursts would have seen 2 of 20. */
	assert_int_equal(change(flow(100, 1.5), none, 0.1).verdict, CTL_CANNOT_TELL);
	/* Counted, and none: there is none. */
	assert_int_equal(change(few, none, INFINITY).verdict, CTL_LESS);
	assert_int_equal(change(none, few, 0).verdict, CTL_MORE);
}

/* A number in (0, 1), the same sequence in each run of the test. */
static double uniform(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return ((double)(x >> 12) + 0.5) / 4503599627370496.;
}

static double gauss(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Nothing changes: estimates that err as their intervals say give at most ALARM of verdicts. */
static void test_false_alarms(void **state)
{
	enum { N = 20000 };
	const double sd = 0.4, factor = exp(1.95996 * sd); /* 1 - ALARM */
	int alarms = 0, seen = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		enum ctl_verdict verdict =
			change(flow(exp(sd * gauss()), factor), flow(exp(sd * gauss()), factor), 1)
				.verdict;

		alarms += verdict == CTL_MORE || verdict == CTL_LESS;
		seen += verdict == CTL_CANNOT_TELL;
	}
	assert_in_range(alarms, 0.9 * ALARM * N, 1.1 * ALARM * N);
	assert_true(seen > N / 2);
}

/* The same of a flow that one run sees and the other does not, by a chance of exposure. */
static void test_false_alarms_of_none(void **state)
{
	enum { N = 20000 };
	const double share = 0.6; /* the first run's of all bursts */
	int alarms = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		struct ctl_flow side[2] = {0};

		for (int k = 0; k < 6; k++) {
			struct ctl_flow *s = &side[uniform() > share];
			uint64_t seen = s->seen + 1;

			*s = flow(seen, 3);
			s->seen = seen;
		}
		if (side[0].value > 0 && side[1].value > 0)
			continue;
		alarms += change(side[0], side[1], (1 - share) / share).verdict >= CTL_LESS;
	}
	/* 0.6^6 > ALARM / 2 > 0.4^6 = 0.0041: the second alone is a verdict. */
	assert_in_range(alarms, 0.003 * N, ALARM * N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_resolved_by_neither),
		cmocka_unit_test(test_gone_and_new),
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_false_alarms_of_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
