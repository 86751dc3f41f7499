// SPDX-License-Identifier: GPL-2.0-or-later
/* The arithmetic of the kernel module's budgets, without a kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../kmod/budget.c"

enum { MS = 1000000 };

static bool module_allows = true;
static uint64_t module_charged_ns;
static uint32_t module_entry_ns;

bool cp_cap_allows(u64 now_ns)
{
	(void)now_ns;
	return module_allows;
}

void cp_cap_charge(u64 ns)
{
	module_charged_ns += ns;
}

u32 cp_cap_entry_ns(void)
{
	return module_entry_ns;
}

static int setup(void **state)
{
	(void)state;
	module_allows = true;
	module_charged_ns = 0;
	module_entry_ns = 0;
	return 0;
}

static uint64_t random64(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* One handler that takes ns at now_ns: was it allowed? */
static bool handle(const struct cp_budget_rule *rule, struct cp_meter *meter, uint64_t now_ns,
		   uint64_t ns)
{
	bool allowed = cp_budget_enter(rule, meter, now_ns);

	cp_budget_leave(rule, meter, now_ns, now_ns + ns);
	return allowed;
}

static void refuses_what_makes_no_sense(void **state)
{
	static const struct cp_budget bad[] = {
		{.flags = 1},
		{.cap_ppm = CP_MAX_CAP_PPM + 1},
		{.cap_ppm = 10, .target_ppm = 11},
		{.window_ms = 10001},
		{.entry_ns = 100001},
	};
	struct cp_budget_rule rule;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cp_budget_rule(&bad[i], &rule), -EINVAL);
	assert_int_equal(cp_budget_rule(&(struct cp_budget){0}, &rule), 0);
	assert_int_equal(rule.cap_ns, 100 * (uint64_t)CP_DEFAULT_CAP_PPM);
}

/* A window of 10 s of which 19 % were spent: the product has more than 64 bits. */
static void adapts_long_windows(void **state)
{
	const struct cp_budget config = {
		.target_ppm = 100000, .cap_ppm = CP_MAX_CAP_PPM, .window_ms = 10000};
	struct cp_budget_rule rule;
	struct cp_meter meter;
	uint64_t start_ns = 20000ull * MS;

	(void)state;
	assert_int_equal(cp_budget_rule(&config, &rule), 0);
	cp_meter_init(&meter, 1);
	handle(&rule, &meter, start_ns, 1900ull * MS);
	assert_int_equal(meter.scale, CP_SCALE_ONE);
	handle(&rule, &meter, start_ns + 10000ull * MS, 0);
	assert_int_equal(meter.scale, CP_SCALE_ONE * 19 / 10);
}

/* Against arithmetic of 128 bits, for all that a rule and a stopped machine can give. */
static void adapts_as_calculated(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct cp_budget config = {
			.cap_ppm = 1 + (uint32_t)(random64() % CP_MAX_CAP_PPM),
			.window_ms = 1 + (uint32_t)(random64() % 10000),
		};
		struct cp_budget_rule rule;
		struct cp_meter meter;
		uint64_t spent, elapsed, old;
		unsigned __int128 want;

		config.target_ppm = 1 + (uint32_t)(random64() % config.cap_ppm);
		assert_int_equal(cp_budget_rule(&config, &rule), 0);
		cp_meter_init(&meter, 1);
		meter.window_start_ns = random64() >> 2;
		meter.scale = 16 + (uint32_t)(random64() % (CP_SCALE_MAX - 15));
		meter.spent_ns = spent = 1 + (random64() >> (24 + random64() % 40));
		old = meter.scale;
		elapsed = rule.window_ns + random64() % (3 * rule.window_ns);
		cp_budget_enter(&rule, &meter, meter.window_start_ns + elapsed);
		spent = (uint64_t)((unsigned __int128)spent * rule.window_ns / elapsed);
		want = (unsigned __int128)old * spent / rule.target_ns;
		if (want > 4 * old)
			want = 4 * old;
		if (want < old / 4)
			want = old / 4;
		if (want > CP_SCALE_MAX)
			want = CP_SCALE_MAX;
		if (want < 16)
			want = 16;
		/* Rules of a few nanoseconds: a quarter of the target is rounded down. */
		if (rule.target_ns < 1000 && meter.scale < old)
			continue;
		assert_in_range(meter.scale, (uint64_t)want - (uint64_t)want / 100,
				(uint64_t)want + (uint64_t)want / 100 + 1);
		assert_int_equal(meter.spent_ns, 0);
	}
}

static void periods_never_wrap(void **state)
{
	struct cp_meter meter;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t period = 1 + (random64() >> (3 + random64() % 60)), least, next;

		cp_meter_init(&meter, (uint32_t)random64());
		meter.scale = CP_SCALE_ONE + (uint32_t)(random64() % (CP_SCALE_MAX - CP_SCALE_ONE));
		meter.stretch = 1u << random64() % 15;
		least = period < INT64_MAX / 4 ? period : INT64_MAX / 4;
		next = cp_budget_period(&meter, period, 0, 1, false);
		assert_in_range(next, least, INT64_MAX / 4);
		next = cp_budget_period(&meter, period, 0, 1, true);
		assert_in_range(next, least - least / 8 - 1, INT64_MAX / 4);
	}
	cp_meter_init(&meter, 1);
	assert_int_equal(cp_budget_period(&meter, 1000, 0, 1, false), 1000);
	assert_int_equal(cp_budget_period(&meter, 1000, 2000, 1, false), 2000);
	assert_int_equal(cp_budget_period(&meter, 1007, 0, 16, false), 992);
	meter.scale = 2 * CP_SCALE_ONE;
	assert_int_equal(cp_budget_period(&meter, 1000, 0, 1, false), 2000);
}

/* Jitter moves each period and none of their sum. */
static void jitter_has_the_mean(void **state)
{
	enum { PERIOD = 100000, DRAWS = 100000 };
	struct cp_meter meter;
	uint64_t sum = 0;

	(void)state;
	cp_meter_init(&meter, 12345);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t next = cp_budget_period(&meter, PERIOD, 0, 1, true);

		assert_in_range(next, PERIOD - PERIOD / 8, PERIOD + PERIOD / 8);
		sum += next;
	}
	/* The mean's own deviation is 1 in 4,400. */
	assert_in_range(sum / DRAWS, PERIOD - PERIOD / 500, PERIOD + PERIOD / 500);
}

/* A machine that slept, or a target that did, says nothing of what a sample costs. */
static void learns_nothing_from_long_gaps(void **state)
{
	const struct cp_budget config = {.target_ppm = 100000, .cap_ppm = CP_MAX_CAP_PPM};
	struct cp_budget_rule rule;
	struct cp_meter meter;

	(void)state;
	assert_int_equal(cp_budget_rule(&config, &rule), 0);
	cp_meter_init(&meter, 1);
	handle(&rule, &meter, 1000ull * MS, 20 * MS);
	handle(&rule, &meter, 1000ull * MS + 4 * rule.window_ns, 20 * MS);
	assert_int_equal(meter.scale, CP_SCALE_ONE);
	handle(&rule, &meter, 1000ull * MS + 8 * rule.window_ns - 1, 0);
	assert_true(meter.scale < CP_SCALE_ONE);
}

/* What a timer of that period costs in a second, of which nothing is useful. */
static uint64_t interrupts_of_a_second(const struct cp_budget_rule *rule, uint64_t period_ns)
{
	struct cp_meter meter;
	uint64_t now_ns = 5000ull * MS, end_ns = now_ns + 1000ull * MS, n = 0;

	cp_meter_init(&meter, 1);
	while (now_ns < end_ns) {
		handle(rule, &meter, now_ns, 0);
		now_ns += cp_budget_period(&meter, period_ns, 0, 1, false);
		n++;
	}
	return n;
}

/*
 * Refused interrupts, each of which costs its entry, must become rare, whatever the
 * period; they must not stay so.
 */
static void refusals_become_rare(void **state)
{
	struct cp_budget_rule rule;
	struct cp_meter meter;

	(void)state;
	assert_int_equal(cp_budget_rule(&(struct cp_budget){.cap_ppm = 1000}, &rule), 0);
	module_allows = false;
	assert_in_range(interrupts_of_a_second(&rule, 10000), 5, 40);
	assert_in_range(interrupts_of_a_second(&rule, 1000000), 5, 40);
	cp_meter_init(&meter, 1);
	assert_false(handle(&rule, &meter, 100ull * MS, 0));
	assert_int_equal(cp_budget_period(&meter, 1000, 0, 1, false), 16000);
	module_allows = true;
	assert_true(handle(&rule, &meter, 101ull * MS, 0));
	assert_int_equal(cp_budget_period(&meter, 1000, 0, 1, false), 1000);
}

static void a_spent_window_ends(void **state)
{
	struct cp_budget_rule rule;
	struct cp_meter meter;

	(void)state;
	assert_int_equal(cp_budget_rule(&(struct cp_budget){.cap_ppm = 100000}, &rule), 0);
	cp_meter_init(&meter, 1);
	assert_true(handle(&rule, &meter, 1000ull * MS, 9 * MS));
	assert_true(handle(&rule, &meter, 1010ull * MS, 1 * MS));
	assert_false(handle(&rule, &meter, 1020ull * MS, 0));
	assert_false(handle(&rule, &meter, 1099ull * MS, 0));
	assert_true(handle(&rule, &meter, 1100ull * MS, 0));
}

/* Each interrupt is charged with its entry, to the session and to the module. */
static void charges_the_entry(void **state)
{
	struct cp_budget_rule rule;
	struct cp_meter meter;

	(void)state;
	assert_int_equal(cp_budget_rule(&(struct cp_budget){.entry_ns = 3000}, &rule), 0);
	cp_meter_init(&meter, 1);
	module_entry_ns = 2000;
	handle(&rule, &meter, 1000ull * MS, 500);
	assert_int_equal(meter.charged_ns, 3500);
	assert_int_equal(meter.handler_ns, 500);
	assert_int_equal(module_charged_ns, 3500);
	module_entry_ns = 4000;
	handle(&rule, &meter, 1001ull * MS, 500);
	assert_int_equal(meter.charged_ns, 8000);
	assert_int_equal(module_charged_ns, 8000);
	/* Also one that is refused, by the module while the session has time left. */
	module_allows = false;
	assert_false(handle(&rule, &meter, 1002ull * MS, 0));
	assert_int_equal(module_charged_ns, 12000);
	assert_int_equal(meter.interrupts, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(refuses_what_makes_no_sense, setup),
		cmocka_unit_test_setup(adapts_long_windows, setup),
		cmocka_unit_test_setup(adapts_as_calculated, setup),
		cmocka_unit_test_setup(periods_never_wrap, setup),
		cmocka_unit_test_setup(refusals_become_rare, setup),
		cmocka_unit_test_setup(a_spent_window_ends, setup),
		cmocka_unit_test_setup(charges_the_entry, setup),
		cmocka_unit_test_setup(jitter_has_the_mean, setup),
		cmocka_unit_test_setup(learns_nothing_from_long_gaps, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
