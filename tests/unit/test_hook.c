// SPDX-License-Identifier: GPL-2.0-or-later
/* Hooks that cost more than their part of the budget are away for a while, and the budget is kept beside storms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_machine.h"

static const uint64_t TICK_NS = 200000000;
static const double ALLOWED = 1e7; /* ns per second */

/* Plays ticks in which the hook takes so much a second while it is there; returns in how many it was. */
static int play_hook(struct comm_hook_state *hook, uint64_t *now_ns, double ns_per_s, int ticks)
{
	int there = 0;

	for (int i = 0; i < ticks; i++) {
		bool is_off = hook->off_ns;

		*now_ns += TICK_NS;
		there += !is_off;
		comm_hook_tick(hook, COMM_HOOK_NAMES, *now_ns, 0.2, is_off ? 0 : 0.2 * ns_per_s,
			       ALLOWED);
	}
	return there;
}

static void test_within_its_part(void **state)
{
	struct comm_hook_state hook = {0};
	uint64_t now_ns = 1000000000;

	(void)state;
	assert_int_equal(play_hook(&hook, &now_ns, 0.09 * ALLOWED, 1000), 1000);
	/* A burst as a program begins, and little afterwards. */
	assert_int_equal(play_hook(&hook, &now_ns, 2 * ALLOWED, 1), 1);
	assert_int_equal(play_hook(&hook, &now_ns, 0, 10), 10);
}

/* Dear trials are rare: what all of them take in 1000 s is a small part of what was allowed. */
static void test_trials(void **state)
{
	static const double dear[] = {1, 10, 50};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct comm_hook_state hook = {0};
		uint64_t now_ns = 1000000000;
		int there = play_hook(&hook, &now_ns, dear[i] * ALLOWED, 5000);

		if (there * 0.2 * dear[i] > 0.15 * 1000)
			fail_msg("%g times the budget: there in %d ticks of 5000", dear[i], there);
		assert_in_range(there, 2, 1000);
		/* When the storm is over it comes back. */
		play_hook(&hook, &now_ns, 0, 1600);
		assert_false(hook.off_ns);
	}
}

static void test_retry(void **state)
{
	struct comm_hook_state hook = {0};
	uint64_t now_ns = 1000000000;

	(void)state;
	play_hook(&hook, &now_ns, 50 * ALLOWED, 2);
	assert_true(hook.off_ns);
	comm_hook_skip(&hook, 1000000000);
	assert_int_equal(hook.off_ns, 1000000000 + TICK_NS + 1000000000);
	comm_hook_retry(&hook);
	play_hook(&hook, &now_ns, 0, 1);
	assert_false(hook.off_ns);
}

/* Each kind of storm: the budget is kept, and samples are left. */
static void test_storms(void **state)
{
	struct comm_governor_config config = one_percent(12000);

	(void)state;
	for (unsigned int kind = 0; kind < COMM_HOOKS; kind++) {
		struct machine m = {.cpus = 2,
				    .busy = 2,
				    .interrupt_ns = 12000,
				    .handler_ns = 1500,
				    .sample_ns = 10000,
				    .tick_ns = 4000000};
		struct run r;

		m.hook_ns_per_s[kind] = 4e8;
		config.tick_ns = 4000000;
		begin(&r, &config);
		play(&r, &m, 60);
		if (sum(r.spent, 0, r.ticks) > 0.0125 * sum(r.used, 0, r.ticks) ||
		    worst_window(&r, 0) > 0.02)
			fail_msg("hook %u: %.4f is spent, %.4f at worst", kind,
				 sum(r.spent, 0, r.ticks) / sum(r.used, 0, r.ticks),
				 worst_window(&r, 0));
		assert_true(r.tick_samples + sum(r.hz, 0, r.ticks) / TICKS_PER_S > 60);
		assert_int_equal(r.out.hooks_off, 1U << kind);
		/* A budget of nothing but a rate takes none away. */
		config.overhead = 0;
		begin(&r, &config);
		play(&r, &m, 10);
		assert_int_equal(r.out.hooks_off, 0);
		config.overhead = 0.01;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_its_part),
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_storms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
