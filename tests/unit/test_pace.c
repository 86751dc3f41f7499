// SPDX-License-Identifier: GPL-2.0-or-later
/* What of the daemon's CPU time is setting up, and what is cost, by clocks made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"

#define comm_clock_now_ns made_now_ns
#define comm_clock_ns made_ns
#define comm_inspect_live_setup_ns made_setup_ns
#define comm_inspect_live_own_ns made_own_ns
#define comm_inspect_live_allow made_allow
#include "../../daemon/governor.c"
#include "../../daemon/hook.c"

static uint64_t made_now_ns(void);
static uint64_t made_ns(clockid_t id);

#include "../../daemon/pace.c"

enum { MS = 1000000 };

static uint64_t now_ns, daemon_ns, target_ns, setup_ns, own_ns, allowed_ns_told;
static struct comm_event cost;
static uint64_t paused_ms, disabled_ms, period;

static double idle_share; /* of the CPUs' time */
static uint64_t told_own_ns;

void comm_idle_time_open(struct comm_idle_time *idle)
{
	(void)idle;
}

void comm_idle_time_close(struct comm_idle_time *idle)
{
	(void)idle;
}

double comm_idle_time_share(struct comm_idle_time *idle, uint64_t used_ns)
{
	(void)idle;
	told_own_ns = used_ns;
	return idle_share;
}

static bool yields, may_yield = true;

bool comm_priority_yield(bool wanted)
{
	return yields = wanted && may_yield;
}

static uint64_t made_now_ns(void)
{
	return now_ns;
}

static uint64_t made_ns(clockid_t id)
{
	(void)id;
	return daemon_ns;
}

uint64_t made_setup_ns(const struct comm_inspect *inspect)
{
	(void)inspect;
	return setup_ns;
}

uint64_t made_own_ns(const struct comm_inspect *inspect)
{
	(void)inspect;
	return own_ns;
}

void made_allow(struct comm_inspect *inspect, uint64_t cpu_ns)
{
	(void)inspect;
	allowed_ns_told = cpu_ns;
}

uint64_t comm_target_cpu_ns(struct comm_target *target)
{
	(void)target;
	return target_ns;
}

uint64_t comm_trigger_tick_ns(void)
{
	return 0;
}

static void fake_info(const void *sampler, struct comm_sampler_info *ret)
{
	(void)sampler;
	*ret = (struct comm_sampler_info){.event = "made", .n_cpus = 1};
}

static int fake_set_rate(void *sampler, const struct comm_sampler_rate *rate)
{
	(void)sampler;
	period = rate->period;
	return 0;
}

static void fake_stats(void *sampler, struct comm_sampler_stats *ret)
{
	(void)sampler;
	*ret = (struct comm_sampler_stats){0};
}

static void take(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	if (event->kind == COMM_EV_COST)
		cost = *event;
	if (event->kind == COMM_EV_LOSS && event->cause == COMM_LOSS_PAUSED)
		paused_ms += event->count;
	if (event->kind == COMM_EV_LOSS && event->cause == COMM_LOSS_DISABLED)
		disabled_ms += event->count;
}

/* A second in which the daemon used 10 ms, 4 of them to set up, and its children 20. */
static void pass(struct comm_pace *pace)
{
	now_ns += 1000 * MS;
	target_ns += 1000 * MS;
	daemon_ns += 10 * MS;
	own_ns += 4 * MS;
	setup_ns += (4 + 20) * MS;
	assert_int_equal(comm_pace_tick(pace, now_ns, take, NULL), 0);
}

static void test_setup(void **state)
{
	static const struct comm_sampler sampler = {
		.info = fake_info, .set_rate = fake_set_rate, .stats = fake_stats};
	struct comm_inspect inspect = {0};
	const struct comm_pace_config config = {
		.sampler = &sampler, .inspect = &inspect, .overhead = 0.01, .interrupt_ns = 1000};
	struct comm_pace_totals totals;
	struct comm_pace *pace;

	(void)state;
	now_ns = 1000000 * (uint64_t)MS;
	daemon_ns = 30 * MS;
	setup_ns = 50 * MS;
	own_ns = 25 * MS;
	assert_int_equal(comm_pace_create(&config, &pace), 0);
	/* Starting the sampler is setting up, too. */
	daemon_ns += 70 * MS;
	comm_pace_set_apart(pace, 70 * MS);
	pass(pace);
	/* With all that was spent before the start: the daemon's own time, and the children's. */
	assert_int_equal(cost.cost.setup_ns, (70 + 30 + 25 + 24) * MS);
	assert_int_equal(cost.cost.daemon_ns, 6 * MS);
	for (int i = 0; i < 3; i++)
		pass(pace);
	assert_int_equal(cost.cost.setup_ns, 24 * MS);
	assert_int_equal(cost.cost.daemon_ns, 6 * MS);
	/* Five seconds after the start all of it is cost, and the governor is told. */
	pass(pace);
	assert_int_equal(cost.cost.setup_ns, 0);
	assert_int_equal(cost.cost.daemon_ns, 30 * MS);
	assert_true(pace->governor.credit_ns < 0);
	/* What this process takes delays nobody while CPUs are idle; its children do not yield. */
	assert_false(yields);
	idle_share = 0.75;
	pass(pace);
	assert_true(yields);
	idle_share = 0;
	assert_int_equal(told_own_ns, 10 * MS);
	assert_int_equal(cost.cost.daemon_ns, 20 * MS + 10 * MS / 4);
	assert_int_equal(cost.cost.daemon_idle_ns, 10 * MS - 10 * MS / 4);
	comm_pace_totals(pace, &totals);
	assert_int_equal(totals.daemon_ns, (4 * 6 + 30 + 20) * MS + 10 * MS / 4);
	assert_int_equal(totals.daemon_idle_ns, 10 * MS - 10 * MS / 4);
	/* Not to and fro at each tick. */
	idle_share = 0.2;
	pass(pace);
	assert_true(yields);
	idle_share = 0.1;
	pass(pace);
	assert_false(yields);
	idle_share = 0.2;
	pass(pace);
	assert_false(yields);
	assert_int_equal(cost.cost.daemon_idle_ns, 0);
	/* Who may not yield delays others, however idle CPUs are. */
	may_yield = false;
	idle_share = 0.75;
	pass(pace);
	may_yield = true;
	idle_share = 0;
	assert_int_equal(cost.cost.daemon_ns, 30 * MS);
	assert_int_equal(cost.cost.daemon_idle_ns, 0);
	comm_pace_destroy(pace);
}

/*
 * Reading files is not limited while setting up is reported apart.  Then its cost makes sampling
 * pause, which is told, until the budget has paid for it.
 */
static void test_pause(void **state)
{
	static const struct comm_sampler sampler = {
		.info = fake_info, .set_rate = fake_set_rate, .stats = fake_stats};
	struct comm_inspect inspect = {0};
	const struct comm_pace_config config = {
		.sampler = &sampler, .inspect = &inspect, .overhead = 0.01, .interrupt_ns = 1000};
	struct comm_pace *pace;

	(void)state;
	now_ns = 1000000 * (uint64_t)MS;
	paused_ms = 0;
	assert_int_equal(comm_pace_create(&config, &pace), 0);
	for (int i = 0; i < 4; i++) {
		pass(pace);
		assert_int_equal(allowed_ns_told, UINT64_MAX);
	}
	pass(pace);
	assert_true(allowed_ns_told <= 10 * MS);
	assert_int_equal(paused_ms, 0);
	assert_true(period > 5000 * (uint64_t)MS);
	pass(pace);
	assert_int_equal(paused_ms, 1000);
	/* Nothing more is spent. */
	for (int i = 0; i < 10; i++) {
		now_ns += 1000 * MS;
		target_ns += 1000 * MS;
		assert_int_equal(comm_pace_tick(pace, now_ns, take, NULL), 0);
	}
	assert_in_range(paused_ms, 2000, 8000);
	assert_true(period < 1000 * (uint64_t)MS);
	comm_pace_destroy(pace);
}

/* While it is disabled nothing is charged, nothing set up is over, and no rate changes. */
static void test_disabled(void **state)
{
	static const struct comm_sampler sampler = {
		.info = fake_info, .set_rate = fake_set_rate, .stats = fake_stats};
	struct comm_inspect inspect = {0};
	const struct comm_pace_config config = {
		.sampler = &sampler, .inspect = &inspect, .overhead = 0.01, .interrupt_ns = 1000};
	struct comm_pace_totals totals;
	struct comm_pace *pace;
	uint64_t before;

	(void)state;
	now_ns = 1000000 * (uint64_t)MS;
	disabled_ms = 0;
	assert_int_equal(comm_pace_create(&config, &pace), 0);
	pass(pace);
	before = period;
	assert_int_equal(comm_pace_enable(pace, false, now_ns, take, NULL), 0);
	assert_true(period > 5000 * (uint64_t)MS);
	for (int i = 0; i < 20; i++) {
		now_ns += MS / 3;
		pass(pace);
	}
	assert_int_equal(disabled_ms, 20 * 1000 + 20 / 3);
	comm_pace_totals(pace, &totals);
	assert_int_equal(totals.target_ns, 1000 * MS);
	assert_int_equal(totals.daemon_ns, 6 * MS);
	/* Twice is once. */
	assert_int_equal(comm_pace_enable(pace, false, now_ns, take, NULL), 0);
	assert_int_equal(comm_pace_enable(pace, true, now_ns, take, NULL), 0);
	assert_int_equal(comm_pace_enable(pace, true, now_ns, take, NULL), 0);
	assert_int_equal(period, before);
	assert_int_equal(pace->governor.last_ns, now_ns);
	cost = (struct comm_event){0};
	pass(pace);
	assert_int_equal(cost.cost.target_ns, 1000 * MS);
	assert_int_equal(cost.cost.daemon_ns, 6 * MS);
	/* The second second of the run: what is read for the first time is setting up. */
	assert_int_equal(cost.cost.setup_ns, (20 + 1) * 24 * MS);
	assert_int_equal(disabled_ms, 20 * 1000 + 20 / 3);
	comm_pace_destroy(pace);
}

/* Another budget: all up to it was allowed by the old one, all from it on is by the new one. */
static void test_another_budget(void **state)
{
	static const struct comm_sampler sampler = {
		.info = fake_info, .set_rate = fake_set_rate, .stats = fake_stats};
	struct comm_pace_config config = {
		.sampler = &sampler, .overhead = 0.01, .floor = 0.002, .interrupt_ns = 1000};
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	struct comm_pace_totals totals;
	struct comm_pace *pace;
	uint64_t before;

	(void)state;
	now_ns = 1000000 * (uint64_t)MS;
	assert_int_equal(comm_pace_create(&config, &pace), 0);
	pass(pace);
	before = period;
	/* In the midst of a tick. */
	now_ns += 100 * MS;
	target_ns += 100 * MS;
	assert_int_equal(comm_pace_allow(pace, 0.05, now_ns, take, NULL), 0);
	comm_pace_totals(pace, &totals);
	assert_int_equal(totals.allowed_ns, 11 * MS);
	assert_true(cost.cost.limit == 0.01 && cost.cost.floor == fmin(0.002 * cpus, 0.01));
	assert_true(period < before);
	assert_true(pace->floor_ns_per_s == comm_pace_floor_ns_per_s(0.002, 0.05));
	assert_true(pace->floor_ns_per_s == 1e9 * fmin(0.002 * cpus, 0.05));
	assert_true(pace->governor.config.floor_ns_per_s == pace->floor_ns_per_s);
	assert_true(pace->governor.config.overhead == 0.05);
	pass(pace);
	comm_pace_totals(pace, &totals);
	assert_int_equal(totals.allowed_ns, (11 + 50) * MS);
	assert_true(cost.cost.limit == 0.05 && cost.cost.floor == fmin(0.002 * cpus, 0.05));
	/* The floor is never more than of one CPU. */
	assert_int_equal(comm_pace_allow(pace, 0.0015, now_ns, take, NULL), 0);
	assert_true(pace->floor_ns_per_s == 1500000);
	/* While sampling is disabled it stays so, and the rate is the new one's when it is enabled. */
	assert_int_equal(comm_pace_enable(pace, false, now_ns, take, NULL), 0);
	before = period;
	now_ns += 1000 * MS;
	assert_int_equal(comm_pace_allow(pace, 0.01, now_ns, take, NULL), 0);
	assert_int_equal(period, before);
	assert_int_equal(comm_pace_enable(pace, true, now_ns, take, NULL), 0);
	assert_int_equal(period, pace->governor.period);
	comm_pace_destroy(pace);
	config.overhead = 0;
	config.rate_hz = 100;
	assert_int_equal(comm_pace_create(&config, &pace), 0);
	assert_int_equal(comm_pace_allow(pace, 0.01, now_ns, take, NULL), -EINVAL);
	comm_pace_destroy(pace);
}

/* Where nothing comes, longer and longer, and not at all in a pause or as soon as something has come. */
static void test_waits(void **state)
{
	static const struct comm_sampler sampler = {
		.info = fake_info, .set_rate = fake_set_rate, .stats = fake_stats};
	struct comm_inspect inspect = {0};
	const struct comm_pace_config config = {
		.sampler = &sampler, .inspect = &inspect, .overhead = 0.5, .interrupt_ns = 1000};
	struct comm_pace *pace;

	(void)state;
	now_ns = 1000000 * (uint64_t)MS;
	assert_int_equal(comm_pace_create(&config, &pace), 0);
	comm_pace_sleep_ms(pace, 1);
	assert_int_equal(comm_pace_wait_ms(pace), 0);
	for (int s = 1; s < 40; s++) {
		pass(pace);
		comm_pace_sleep_ms(pace, 0);
		assert_int_equal(comm_pace_wait_ms(pace), s < 30 ? s * 1000 : 30000);
	}
	assert_int_equal(comm_pace_enable(pace, false, now_ns, take, NULL), 0);
	assert_int_equal(comm_pace_wait_ms(pace), 0);
	assert_int_equal(comm_pace_enable(pace, true, now_ns, take, NULL), 0);
	assert_int_equal(comm_pace_wait_ms(pace), 30000);
	comm_pace_sleep_ms(pace, 1);
	assert_int_equal(comm_pace_wait_ms(pace), 0);
	comm_pace_destroy(pace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup),	 cmocka_unit_test(test_pause),
		cmocka_unit_test(test_disabled), cmocka_unit_test(test_another_budget),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
