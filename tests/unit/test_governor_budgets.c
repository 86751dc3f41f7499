// SPDX-License-Identifier: GPL-2.0-or-later
/* Budgets that change while the governor runs, and the daemon's own, against a made machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_machine.h"

static double spent_share(const struct run *r, int from, int to)
{
	return sum(r->spent, from, to) / sum(r->used, from, to);
}

/* The rate follows another budget at once; no more than it is spent, and most of it. */
static void test_another_budget(void **state)
{
	static const double budgets[] = {0.05, 0.002, 0.01};
	struct machine m = {.cpus = 4,
			    .busy = 3.5,
			    .interrupt_ns = 3000,
			    .handler_ns = 1500,
			    .sample_ns = 10000,
			    .daemon_ns_per_s = 1000000,
			    .tick_ns = 4000000};
	struct comm_governor_config config = one_percent(3000);
	struct run r;

	(void)state;
	config.tick_ns = 4000000;
	begin(&r, &config);
	play(&r, &m, 20);
	for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
		double factor = r.governor.config.overhead / budgets[i];
		double nominal = r.governor.nominal * factor;
		int from = r.ticks;

		comm_governor_allow(&r.governor, budgets[i], 1000000, &r.out);
		assert_true(r.out.new_period && r.out.period == r.governor.period);
		assert_true(fabs(r.governor.nominal - fmax(nominal, shortest(&r.governor))) < 1);
		assert_true(fabs((double)r.out.period / r.governor.nominal - 1) < 0.07);
		play(&r, &m, 20);
		if (spent_share(&r, from, r.ticks) > 1.01 * budgets[i] ||
		    spent_share(&r, from + 2 * TICKS_PER_S, r.ticks) < 0.6 * budgets[i])
			fail_msg("at %g: %.5f spent, %.5f after 2 s", budgets[i],
				 spent_share(&r, from, r.ticks),
				 spent_share(&r, from + 2 * TICKS_PER_S, r.ticks));
		for (int t = from; t < r.ticks; t++)
			assert_true(r.period[t] < 1e9);
		assert_true(r.governor.config.floor_ns_per_s == 1000000);
	}
}

/* What is owed of a larger budget does not make a smaller one pause: it is as long in seconds. */
static void test_debts_of_another_budget(void **state)
{
	struct comm_governor_config config = one_percent(3000);
	struct machine m = {.cpus = 1, .busy = 1, .interrupt_ns = 3000, .sample_ns = 3000};
	struct comm_governor *g;
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 10);
	g = &r.governor;
	g->credit_ns = -1e7;
	g->over_ns = 1e7;
	g->lumps_ns = 1e7;
	comm_governor_allow(g, 0.001, 100000, &r.out);
	assert_true(fabs(g->credit_ns + 1e6) < 1 && fabs(g->over_ns - 1e6) < 1);
	assert_true(fabs(g->lumps_ns - 1e6) < 1);
	comm_governor_allow(g, 0.01, 100000, &r.out);
	assert_true(fabs(g->credit_ns + 1e6) < 1 && fabs(g->over_ns - 1e6) < 1);
	/* A pause goes on until its debts are worked off, by the new budget. */
	g->paused = true;
	g->period = comm_governor_paused(g);
	comm_governor_allow(g, 0.02, 100000, &r.out);
	assert_true(r.out.paused && !r.out.new_period && !r.out.lines && !r.out.tick_every);
	assert_true(r.out.period == comm_governor_paused(g));
}

/* What the daemon uses while CPUs are idle is not of the budget, but has a bound. */
static void test_idle_cpus(void **state)
{
	struct machine m = {.cpus = 4,
			    .busy = 0.5,
			    .interrupt_ns = 5000,
			    .handler_ns = 10000,
			    .sample_ns = 100000,
			    .daemon_ns_per_s = 500000};
	struct comm_governor_config config = one_percent(5000);
	double met;
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 30);
	met = r.met;
	m.idle = 0.9;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(r.met > 3 * met);
	assert_true(worst_window(&r, 0) < 0.0101);
	/* As much as two in three samples would cost. */
	config.daemon_ns_per_s = (met + r.met) / 2 / 30 * 100000;
	met = r.met;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(r.met < 0.75 * met && r.met > 0.3 * met);
	assert_true(r.daemon_used_ns < 1.1 * config.daemon_ns_per_s / TICKS_PER_S);
}

/* The bound is of idle CPUs alone: where none is idle, all that the daemon uses is of the budget already. */
static void test_busy_cpus(void **state)
{
	struct machine m = {.cpus = 4,
			    .busy = 4,
			    .interrupt_ns = 5000,
			    .handler_ns = 10000,
			    .sample_ns = 100000};
	struct comm_governor_config config = one_percent(5000);
	double met;
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 30);
	met = r.met;
	config.daemon_ns_per_s = met / 30 * m.sample_ns / 10;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(r.met > 0.9 * met);
}

/*
 * A lump that is as much as a second's budget, once in 5 s, leaves the samples what it does not take: they
 * neither pause nor come and go with it.
 */
static void test_lumps(void **state)
{
	struct machine m = {.cpus = 2,
			    .busy = 0.06,
			    .interrupt_ns = 12000,
			    .handler_ns = 10000,
			    .sample_ns = 1000,
			    .tick_ns = 4000000};
	struct comm_governor_config config = one_percent(12000);
	double met, most = 0, least = 1e9;
	struct run r;

	(void)state;
	config.tick_ns = 4000000;
	config.floor_ns_per_s = 4000000;
	begin(&r, &config);
	play(&r, &m, 60);
	met = r.met;
	m.lump_ns = 4000000;
	m.lump_every = 5 * TICKS_PER_S;
	begin(&r, &config);
	play(&r, &m, 20);
	for (int i = 0; i < 40; i++) {
		play(&r, &m, 1);
		assert_false(r.governor.paused);
		assert_int_equal(r.governor.tick_every, 1);
		most = fmax(most, r.hz[r.ticks - 1]);
		least = fmin(least, r.hz[r.ticks - 1]);
	}
	/* The budget's 0.8 of 4 ms, less 0.8 ms for lumps. */
	assert_true(r.met > 0.6 * met && r.met < 0.9 * met);
	assert_true(most < 2 * least);
	for (int i = 0; i + 10 * TICKS_PER_S <= r.ticks; i++)
		assert_true(sum(r.spent, i, i + 10 * TICKS_PER_S) < 1.25 * 10 * 4e6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_budget),
		cmocka_unit_test(test_debts_of_another_budget),
		cmocka_unit_test(test_idle_cpus),
		cmocka_unit_test(test_busy_cpus),
		cmocka_unit_test(test_lumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
