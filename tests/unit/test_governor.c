// SPDX-License-Identifier: GPL-2.0-or-later
/* The governor against a made machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_machine.h"

/* The budget is kept, and used, whatever the parts of the cost are. */
static void test_holds_budget(void **state)
{
	static const double interrupts[] = {1000, 3000, 15000}, samples[] = {500, 10000, 50000};
	size_t i, j;

	(void)state;
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			struct machine m = {.cpus = 4,
					    .busy = 3.5,
					    .interrupt_ns = interrupts[i],
					    .handler_ns = 1500,
					    .sample_ns = samples[j],
					    .daemon_ns_per_s = 1000000,
					    .switches_per_s = 2000,
					    .switch_ns = 250};
			struct comm_governor_config config = one_percent(interrupts[i]);
			struct run r;
			double last;

			begin(&r, &config);
			play(&r, &m, 30);
			last = sum(r.spent, r.ticks / 2, r.ticks) /
			       sum(r.used, r.ticks / 2, r.ticks);
			if (worst_window(&r, 0) > 0.0101 || last < 0.006)
				fail_msg("interrupt %g sample %g: worst %.4f, last %.4f",
					 interrupts[i], samples[j], worst_window(&r, 0), last);
		}
	}
}

/* As many ticks are samples as the budget allows, which gives more samples for it. */
static void test_ticks(void **state)
{
	static const struct {
		double sample_ns;
		unsigned int least, most;
	} is[] = {{2000, 1, 1}, {10000, 1, 1}, {100000, 4, 16}, {5000000, 64, 64}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		struct machine m = {.cpus = 2,
				    .busy = 2,
				    .interrupt_ns = 15000,
				    .handler_ns = 1500,
				    .sample_ns = is[i].sample_ns,
				    .tick_ns = 4000000};
		struct comm_governor_config config = one_percent(15000);
		double samples[2], used;
		unsigned int every;
		struct run r;

		config.tick_ns = 4000000;
		begin(&r, &config);
		play(&r, &m, 60);
		every = r.governor.tick_every;
		used = sum(r.spent, r.ticks / 2, r.ticks) / sum(r.used, r.ticks / 2, r.ticks);
		samples[1] = r.tick_samples + sum(r.hz, 0, r.ticks) / TICKS_PER_S;
		if (every < is[i].least || every > is[i].most)
			fail_msg("a sample of %g ns: one in %u ticks", is[i].sample_ns, every);
		if (is[i].sample_ns > 1e6)
			continue; /* no rate is low enough */
		if (used > 0.0101 || used < 0.003)
			fail_msg("a sample of %g ns: %.4f spent", is[i].sample_ns, used);
		config.tick_ns = 0;
		begin(&r, &config);
		play(&r, &m, 60);
		assert_int_equal(r.out.tick_every, 0);
		samples[0] = sum(r.hz, 0, r.ticks) / TICKS_PER_S;
		if (samples[1] < samples[0])
			fail_msg("a sample of %g ns: %.0f samples instead of %.0f", is[i].sample_ns,
				 samples[1], samples[0]);
	}
}

static void test_ticks_follow(void **state)
{
	struct comm_governor g = {.config = one_percent(15000), .tick_every = 8, .tick_share = 0.1};
	struct comm_governor_input in = {.now_ns = 10 * 1000000000ull, .tick_hits = 1};

	(void)state;
	/* Too much is spent, though little of it for ticks. */
	g.nominal = (double)g.config.max_period;
	assert_true(choose_ticks(&g, &in, 1.2e6, 1e6) && g.tick_every == 16);
	/* Much is left: at once as many as that pays for, where it is known what they cost. */
	g.ticks_set_ns = 0;
	g.tick_share = 1;
	assert_true(choose_ticks(&g, &in, 0.2e6, 1e6) && g.tick_every == 4);
	g.ticks_set_ns = 0;
	g.tick_every = 64;
	in.tick_hits = 0;
	assert_true(choose_ticks(&g, &in, 0, 1e6) && g.tick_every == 32);
}

static void test_starts_carefully(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct machine m = {.cpus = 2, .busy = 2, .interrupt_ns = 15000, .sample_ns = 5000};
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 3);
	assert_true(sum(r.spent, 0, TICKS_PER_S) / sum(r.used, 0, TICKS_PER_S) < 0.01);
	/* And it converges fast: near its final rate in less than 2 s. */
	assert_true(r.hz[2 * TICKS_PER_S] > 0.7 * 2 * 0.01 * 1e9 / 20000);
}

/*
 * The first samples meet code and data that no sample met before, and each of them costs many times what a later
 * one does: the budget holds over the first seconds all the same, of a target that uses little, too.
 */
static void test_first_samples_are_dear(void **state)
{
	static const double busy[] = {0.3, 1, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		struct comm_governor_config config = one_percent(12700);
		struct machine m = {.cpus = busy[i],
				    .busy = busy[i],
				    .interrupt_ns = 12700,
				    .handler_ns = 12000,
				    .sample_ns = 60000,
				    .daemon_ns_per_s = 1000000,
				    .tick_ns = 4000000,
				    .cold = 40,
				    .cold_ns = 600000};
		double spent, allowed;
		struct run r;

		config.tick_ns = 4000000;
		config.floor_ns_per_s = 4000000;
		begin(&r, &config);
		play(&r, &m, 8);
		spent = sum(r.spent, 0, r.ticks);
		allowed = fmax(0.01 * sum(r.used, 0, r.ticks), 8 * config.floor_ns_per_s);
		if (spent > 1.25 * allowed || spent < 0.5 * allowed)
			fail_msg("%g CPUs: %.2f of the budget", busy[i], spent / allowed);
	}
}

static void test_idle_target(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct machine m = {
		.cpus = 2, .busy = 0.0001, .interrupt_ns = 15000, .daemon_ns_per_s = 200000};
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 20);
	/* The total cost is 0.05 % of one core, the floor. */
	assert_true(sum(r.spent, r.ticks / 2, r.ticks) / 10e9 < 0.000501);
}

/* A target that hardly runs gets what the floor allows, and no more. */
static void test_floor(void **state)
{
	struct machine m = {.cpus = 2,
			    .busy = 0.02,
			    .interrupt_ns = 12000,
			    .handler_ns = 1500,
			    .daemon_ns_per_s = 300000};
	struct comm_governor_config config = one_percent(12000);
	double without, spent;
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 30);
	without = sum(r.hz, r.ticks / 2, r.ticks);
	config.floor_ns_per_s = 4000000;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(sum(r.hz, r.ticks / 2, r.ticks) > 5 * without);
	spent = sum(r.spent, r.ticks / 2, r.ticks) / (15 * config.floor_ns_per_s);
	if (spent < 0.6 || spent > 1)
		fail_msg("%.2f of the floor is spent", spent);
}

/* The same for windows of 10 s, from the 6th second on. */
static double worst_10_s(const struct run *r)
{
	int w = 10 * TICKS_PER_S, i;
	double worst = 0;

	for (i = 5 * TICKS_PER_S; i + w <= r->ticks; i++)
		worst = fmax(worst, sum(r->spent, i, i + w) / sum(r->used, i, i + w));
	return worst;
}

static double between(uint64_t *seed, double least, double most)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return least + (most - least) * (double)(*seed >> 40) / (double)(1 << 24);
}

/*
 * Never above the budget by more than a quarter in any 10 s after the first 5, whatever comes:
 * costs that change up to tenfold every few seconds, samples that are too dear at any rate,
 * files that take all that they may, and a bit more each time.
 */
static void test_cap(void **state)
{
	uint64_t seed = 1;
	double worst = 0, least = 1;
	int paused = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct comm_governor_config config = one_percent(between(&seed, 1000, 20000));
		struct machine m = {
			.cpus = 2, .interrupt_ns = config.interrupt_ns, .handler_ns = 1500};
		double sample_ns = pow(10, between(&seed, 4, 5.5)), last;
		struct run r;

		m.tick_ns = config.tick_ns = i % 2 ? 4000000 : 0;
		begin(&r, &config);
		while (r.ticks < 90 * TICKS_PER_S) {
			m.busy = between(&seed, 1, 2);
			m.sample_ns = sample_ns * pow(10, between(&seed, 0, 1));
			m.daemon_ns_per_s = between(&seed, 0, 0.002) * 1e9;
			m.life_ns_per_s = between(&seed, 0, 0.003) * 1e9;
			m.switches_per_s = pow(10, between(&seed, 0, 5));
			m.others_per_s = pow(10, between(&seed, 0, 5));
			m.switch_ns = 250;
			m.reads = between(&seed, -5e6, 5e6);
			play(&r, &m, 1 + (int)between(&seed, 0, 15));
			paused += r.governor.paused;
		}
		worst = fmax(worst, worst_10_s(&r));
		last = sum(r.spent, 0, r.ticks) / sum(r.used, 0, r.ticks);
		least = fmin(least, last);
		if (worst_10_s(&r) > 0.0125)
			fail_msg("storm %d: %.4f", i, worst_10_s(&r));
	}
	print_message("worst %.4f, least on the whole %.4f, paused at %d changes\n", worst, least,
		      paused);
	/* The budget is used all the same. */
	assert_true(least > 0.006 && paused > 0);
}

/*
 * What costs a minute's allowance at once, such as files that are read when the start is over, makes sampling
 * pause for no longer than any 10 s that begin after it need.
 */
static void test_pause_is_bounded(void **state)
{
	struct machine m = {.cpus = 2,
			    .busy = 1,
			    .interrupt_ns = 12000,
			    .handler_ns = 1500,
			    .sample_ns = 10000};
	struct comm_governor_config config = one_percent(12000);
	int after, paused = 0;
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 6);
	m.daemon_ns_per_s = 0.6e9;
	play(&r, &m, 1);
	m.daemon_ns_per_s = 0;
	after = r.ticks;
	assert_true(r.governor.paused);
	while (r.governor.paused && ++paused < 60)
		play(&r, &m, 1);
	assert_in_range(paused, 8, 11);
	play(&r, &m, 30);
	assert_false(r.governor.paused);
	for (int i = after; i + 10 * TICKS_PER_S <= r.ticks; i++)
		assert_true(sum(r.spent, i, i + 10 * TICKS_PER_S) <
			    0.0125 * sum(r.used, i, i + 10 * TICKS_PER_S));
}

/* What forks and exits cost is taken from the samples, and few strangers are told of. */
static void test_storm(void **state)
{
	struct machine m = {.cpus = 2,
			    .busy = 2,
			    .interrupt_ns = 12000,
			    .handler_ns = 1500,
			    .sample_ns = 10000,
			    .life_ns_per_s = 14000000};
	struct comm_governor_config config = one_percent(12000);
	struct run r;

	(void)state;
	begin(&r, &config);
	assert_int_not_equal(r.out.strangers_per_s, UINT32_MAX);
	play(&r, &m, 30);
	if (worst_window(&r, 5 * TICKS_PER_S) > 0.0101)
		fail_msg("%.4f is spent", worst_window(&r, 5 * TICKS_PER_S));
	assert_in_range(r.out.strangers_per_s, 20, 200);
	/* A target that hardly runs pays for fewer. */
	m.busy = 0.05;
	play(&r, &m, 30);
	assert_in_range(r.out.strangers_per_s, 1, 10);
	config.overhead = 0;
	begin(&r, &config);
	assert_int_equal(r.out.strangers_per_s, UINT32_MAX);
	play(&r, &m, 2);
	assert_int_equal(r.out.strangers_per_s, UINT32_MAX);
}

/* A target that wakes up is hit neither by saved budget nor by a short period. */
static void test_wakes_up(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct machine idle = {
		.cpus = 0.05, .busy = 0.001, .interrupt_ns = 15000, .daemon_ns_per_s = 100000};
	struct machine busy = {
		.cpus = 2, .busy = 2, .interrupt_ns = 15000, .handler_ns = 2000, .sample_ns = 5000};
	struct run r;
	int woke;

	(void)state;
	begin(&r, &config);
	play(&r, &idle, 30);
	woke = r.ticks;
	play(&r, &busy, 20);
	assert_true(worst_window(&r, woke) < 0.0101);
}

static void test_more_expensive(void **state)
{
	struct comm_governor_config config = one_percent(3000);
	struct machine m = {.cpus = 2, .busy = 2, .interrupt_ns = 3000, .sample_ns = 1000};
	struct run r;
	int from;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 20);
	from = r.ticks;
	m.sample_ns = 30000;
	play(&r, &m, 20);
	/* The tick in which it happened is repaid within the window after it. */
	assert_true(worst_window(&r, from + 1) < 0.0105);
	assert_true(sum(r.spent, from, r.ticks) / sum(r.used, from, r.ticks) < 0.0101);
}

static void test_switch_storm(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct machine m = {.cpus = 2,
			    .busy = 2,
			    .interrupt_ns = 15000,
			    .sample_ns = 2000,
			    .switches_per_s = 40000,
			    .switch_ns = 250};
	struct run r;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 30);
	/* Too many switches: tracing is tried now and then only, and samples are still taken. */
	assert_true(r.switches_on > 0 && r.switches_on < r.ticks / 10);
	assert_true(worst_window(&r, 2 * TICKS_PER_S) < 0.0101);
	assert_true(r.hz[r.ticks - 1] > 300);

	/* So many switches that even a trial is too dear. */
	m.switches_per_s = 2000000;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_int_equal(r.switches_on, 0);
	assert_true(worst_window(&r, 0) < 0.0101);

	/* Only few switches are the target's: the first trial finds that, and they stay on. */
	m.switches_per_s = 1000;
	m.others_per_s = 39000;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(r.switches_on > r.ticks / 2);
	assert_true(worst_window(&r, 2 * TICKS_PER_S) < 0.0101);

	/* Few switches on the whole machine: on from the first tick. */
	m.others_per_s = 0;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(r.switches_on >= r.ticks - 2);
}

static void test_holds_rate(void **state)
{
	struct comm_governor_config config;
	struct machine m = {.cpus = 2, .busy = 1.5, .interrupt_ns = 15000, .insns_per_ns = 2};
	struct run r;

	(void)state;
	comm_governor_defaults(true, &config);
	config.interrupts_per_s = 997;
	begin(&r, &config);
	assert_true(fabs(1e9 / (double)r.out.period / 997 - 1) <= JITTER + 0.01);
	/* With --rate there is no budget that switches could exceed. */
	assert_true(r.out.switches);
	comm_governor_defaults(false, &config);
	config.interrupts_per_s = 500;
	begin(&r, &config);
	play(&r, &m, 20);
	assert_true(fabs(r.hz[r.ticks - 1] / 1.5 / 500 - 1) < 0.2);
}

static void test_instructions_budget(void **state)
{
	struct comm_governor_config config;
	struct machine m = {
		.cpus = 2, .busy = 2, .interrupt_ns = 2500, .sample_ns = 5000, .insns_per_ns = 4};
	struct run r;

	(void)state;
	comm_governor_defaults(false, &config);
	config.overhead = 0.01;
	config.interrupt_ns = 2500;
	begin(&r, &config);
	play(&r, &m, 30);
	assert_true(worst_window(&r, 0) < 0.0101);
	assert_true(sum(r.spent, r.ticks / 2, r.ticks) / sum(r.used, r.ticks / 2, r.ticks) > 0.006);
}

static void test_jitter(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct machine m = {.cpus = 2, .busy = 2, .interrupt_ns = 15000, .sample_ns = 1000};
	struct run r;
	int i, different = 0;

	(void)state;
	begin(&r, &config);
	play(&r, &m, 60);
	for (i = 1; i < r.ticks; i++) {
		assert_true(is_prime((uint64_t)r.period[i]));
		different += r.period[i] != r.period[i - 1];
	}
	assert_true(different >= 50);
	/* Seldom enough: each setting loses part of an interval. */
	assert_true(different <= 120);
}

static void test_long_period_is_let_run(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct machine m = {.cpus = 2, .busy = 0.5, .interrupt_ns = 15000};
	struct run r;

	(void)state;
	config.overhead = 0.00066; /* the longest period costs 0.0006 */
	config.floor_ns_per_s = 1;
	begin(&r, &config);
	play(&r, &m, 60);
	assert_true(r.period[r.ticks - 1] > 9e7);
	assert_true(r.jitters < 40);
}

static void test_clock_oddities(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct comm_governor_input in = {.now_ns = 1000, .interrupts = 5};
	struct comm_governor_output out;
	struct comm_governor g;
	uint64_t period;

	(void)state;
	comm_governor_init(&g, &config, 5000, &out);
	period = out.period;
	/* A clock that stands still or goes back changes no decision. */
	comm_governor_tick(&g, &in, &out);
	assert_int_equal(out.period, period);
	assert_false(out.new_period);
	in.now_ns = 5000;
	comm_governor_tick(&g, &in, &out);
	assert_int_equal(out.period, period);
	/* A pause of an hour, as after a suspend. */
	in.now_ns = 3600ULL * 1000000000;
	comm_governor_tick(&g, &in, &out);
	assert_true(out.period >= config.min_period && out.period <= config.max_period + 1000);
}

/* A source that takes a new period late does not make the rate run away. */
static void test_held_period(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct comm_governor_input in = {.interrupts = 1000, .daemon_ns = 100000000};
	struct comm_governor_output out;
	struct comm_governor g;
	int i;

	(void)state;
	comm_governor_init(&g, &config, 1000000000, &out);
	for (i = 1; i < 50; i++) {
		comm_governor_held(&g, 4000037);
		in.now_ns = 1000000000 + (uint64_t)i * COMM_GOVERNOR_TICK_NS;
		in.target_ns = COMM_GOVERNOR_TICK_NS;
		comm_governor_tick(&g, &in, &out);
		assert_true(g.nominal < 3 * 4000037);
	}
}

/* A CPU that only runs the target never pays more than that CPU's budget. */
static void test_shortest_period(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct comm_governor_input in = {.interrupts = 100};
	struct comm_governor_output out;
	struct comm_governor g;
	int i;

	(void)state;
	comm_governor_init(&g, &config, 1000000000, &out);
	for (i = 1; i < 100; i++) {
		in.now_ns = 1000000000 + (uint64_t)i * COMM_GOVERNOR_TICK_NS;
		in.target_ns = 100ULL * COMM_GOVERNOR_TICK_NS;
		comm_governor_tick(&g, &in, &out);
	}
	assert_true(out.period >= 15000 * 100 * (1 - JITTER));
}

/*
 * On a machine that gives little time to daemon and target, after an expensive start as many samples are taken as
 * the slowest rate gives.
 */
static void test_recovers(void **state)
{
	struct comm_governor_config config = one_percent(15000);
	struct comm_governor_input in = {0};
	struct comm_governor_output out;
	struct comm_governor g;
	double due = 0;
	int i, n = 0;

	(void)state;
	comm_governor_init(&g, &config, 1000000000, &out);
	for (i = 1; i <= 25; i++) {
		in.now_ns = 1000000000 + (uint64_t)i * COMM_GOVERNOR_TICK_NS;
		in.target_ns = COMM_GOVERNOR_TICK_NS / 5;
		in.daemon_ns = i <= 5 ? 10000000 : 200000;
		due += (double)in.target_ns / (double)out.period;
		in.interrupts = (uint64_t)due;
		due -= (double)in.interrupts;
		n += i > 5 ? (int)in.interrupts : 0;
		comm_governor_tick(&g, &in, &out);
	}
	assert_true(n >= 8);
}

static void test_prime(void **state)
{
	(void)state;
	assert_int_equal(comm_governor_prime(0), 2);
	assert_int_equal(comm_governor_prime(14), 17);
	assert_int_equal(comm_governor_prime(25), 29);
	assert_int_equal(comm_governor_prime(561), 563); /* a Carmichael number */
	assert_int_equal(comm_governor_prime(1000000), 1000003);
	assert_int_equal(comm_governor_prime(3215031751ULL), 3215031767ULL); /* fools 2, 3, 5, 7 */
}

static void test_park(void **state)
{
	const uint64_t s = 1000000000ULL, start = 100 * s;

	(void)state;
	/* Never seen: parked from the start, deeply later. */
	assert_int_equal(comm_governor_park(start, 0, start), COMM_PARK_SHIFT);
	assert_int_equal(comm_governor_park(start + 6 * s, 0, start), COMM_PARK_DEEP_SHIFT);
	assert_int_equal(comm_governor_park(start + 6 * s, start + 6 * s - 1, start), 0);
	assert_int_equal(comm_governor_park(start + 8 * s, start + 6 * s, start), COMM_PARK_SHIFT);
	assert_int_equal(comm_governor_park(start + 60 * s, start + 6 * s, start),
			 COMM_PARK_DEEP_SHIFT);
	/* Stamped on another CPU a little ahead of our clock. */
	assert_int_equal(comm_governor_park(start + s, start + s + 500, start), 0);
}

/* Records that PEBS wrote many at once cost what handling them does. */
static void test_drained(void **state)
{
	struct comm_governor_config config;
	struct comm_governor_input in = {.interrupts = 1100, .drained = 1000, .handler_ns = 500000};
	struct comm_governor governor;
	struct comm_governor_output out;

	(void)state;
	comm_governor_defaults(false, &config);
	config.interrupt_ns = 2000;
	config.overhead = 0;
	config.interrupts_per_s = 500;
	comm_governor_init(&governor, &config, 1, &out);
	in.now_ns = 1000000001;
	in.target_ns = 1000000000;
	comm_governor_tick(&governor, &in, &out);
	assert_int_equal(out.handler_ns, 100 * 2000 + 500000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drained),
		cmocka_unit_test(test_holds_budget),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_ticks_follow),
		cmocka_unit_test(test_starts_carefully),
		cmocka_unit_test(test_first_samples_are_dear),
		cmocka_unit_test(test_idle_target),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_pause_is_bounded),
		cmocka_unit_test(test_wakes_up),
		cmocka_unit_test(test_more_expensive),
		cmocka_unit_test(test_switch_storm),
		cmocka_unit_test(test_holds_rate),
		cmocka_unit_test(test_instructions_budget),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_long_period_is_let_run),
		cmocka_unit_test(test_clock_oddities),
		cmocka_unit_test(test_held_period),
		cmocka_unit_test(test_shortest_period),
		cmocka_unit_test(test_recovers),
		cmocka_unit_test(test_prime),
		cmocka_unit_test(test_park),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
