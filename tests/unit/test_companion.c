// SPDX-License-Identifier: GPL-2.0-or-later
/* The calls that a live run makes to its companions, with a fake one that notes them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/companion/companion.c"

static bool is_wanted, fails, lacks;
static int n_bursts, n_drains, n_turns, n_ended, n_closed;
static uint64_t cost_ns, last_budget_ns;
static char self;

static int fake_open(const struct comm_companion_config *config, void **ret, char **err)
{
	assert_non_null(config);
	if (fails)
		return -EBUSY;
	if (lacks)
		*err = strdup("nothing to be had");
	else if (is_wanted)
		*ret = &self;
	return 0;
}

static void fake_burst(void *companion, const struct comm_event *event,
		       const struct comm_burst *burst)
{
	assert_ptr_equal(companion, &self);
	(void)event;
	(void)burst;
	n_bursts++;
}

static void fake_drain(void *companion, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	const struct comm_event event = {.kind = COMM_EV_FED, .time_ns = now_ns};

	assert_ptr_equal(companion, &self);
	push(ctx, &event);
	n_drains++;
}

static void fake_turn(void *companion, uint64_t now_ns, uint64_t budget_ns)
{
	assert_ptr_equal(companion, &self);
	(void)now_ns;
	last_budget_ns = budget_ns;
	n_turns++;
}

static int fake_turn_ms(const void *companion)
{
	assert_ptr_equal(companion, &self);
	return 20;
}

static uint64_t fake_cost_ns(const void *companion)
{
	assert_ptr_equal(companion, &self);
	return cost_ns;
}

static void fake_end(void *companion)
{
	assert_ptr_equal(companion, &self);
	n_ended++;
}

static void fake_close(void *companion)
{
	assert_ptr_equal(companion, &self);
	n_closed++;
}

const struct comm_companion comm_companion_survey = {
	.open = fake_open,
	.burst = fake_burst,
	.end = fake_end,
	.drain = fake_drain,
	.turn = fake_turn,
	.turn_ms = fake_turn_ms,
	.cost_ns = fake_cost_ns,
	.close = fake_close,
};

static void count(void *ctx, const struct comm_event *event)
{
	(void)event;
	++*(int *)ctx;
}

static int reset(void **state)
{
	(void)state;
	is_wanted = fails = lacks = false;
	n_bursts = n_drains = n_turns = n_ended = n_closed = 0;
	cost_ns = last_budget_ns = 0;
	return 0;
}

static void test_wanted(void **state)
{
	const struct comm_companion_config config = {0};
	struct comm_companions *companions = NULL;
	char *why = NULL;
	int pushed = 0;

	(void)state;
	is_wanted = true;
	assert_int_equal(comm_companions_open(&config, &companions, &why), 0);
	comm_companions_burst(companions, NULL, NULL);
	assert_int_equal(n_bursts, 1);
	cost_ns = 100;
	assert_int_equal(comm_companions_drain(companions, 1, count, &pushed), 100);
	assert_int_equal(pushed, 1);
	/* A cost that was reported is not reported again. */
	assert_int_equal(comm_companions_drain(companions, 2, count, &pushed), 0);
	cost_ns = 130;
	assert_int_equal(comm_companions_drain(companions, 3, count, &pushed), 30);
	comm_companions_turn(companions, 3, 77);
	assert_int_equal(n_turns, 1);
	assert_int_equal(last_budget_ns, 77);
	assert_int_equal(comm_companions_turn_ms(companions, 100), 20);
	assert_int_equal(comm_companions_turn_ms(companions, 10), 10);
	comm_companions_end(companions);
	assert_int_equal(n_ended, 1);
	comm_companions_close(companions);
	assert_int_equal(n_closed, 1);
}

static void test_not_wanted(void **state)
{
	const struct comm_companion_config config = {0};
	struct comm_companions *companions = NULL;
	char *why = NULL;
	int pushed = 0;

	(void)state;
	assert_int_equal(comm_companions_open(&config, &companions, &why), 0);
	comm_companions_burst(companions, NULL, NULL);
	comm_companions_turn(companions, 3, 77);
	cost_ns = 5;
	assert_int_equal(comm_companions_drain(companions, 1, count, &pushed), 0);
	comm_companions_end(companions);
	assert_int_equal(pushed + n_bursts + n_turns + n_drains + n_ended, 0);
	assert_int_equal(comm_companions_turn_ms(companions, 100), 100);
	assert_string_equal(comm_companions_note(companions), "");
	comm_companions_close(companions);
	assert_int_equal(n_closed, 0);
}

/* What cannot be had and was not asked for is no error, but the run says it. */
static void test_not_to_be_had(void **state)
{
	const struct comm_companion_config config = {0};
	struct comm_companions *companions = NULL;
	char *why = NULL;

	(void)state;
	lacks = true;
	assert_int_equal(comm_companions_open(&config, &companions, &why), 0);
	assert_null(why);
	assert_string_equal(comm_companions_note(companions), "nothing to be had");
	comm_companions_burst(companions, NULL, NULL);
	assert_int_equal(n_bursts, 0);
	comm_companions_close(companions);
}

static void test_fails(void **state)
{
	const struct comm_companion_config config = {0};
	struct comm_companions *companions = NULL;
	char *why = NULL;

	(void)state;
	fails = true;
	assert_int_equal(comm_companions_open(&config, &companions, &why), -EBUSY);
	assert_null(companions);
	comm_companions_close(companions);
	assert_int_equal(n_closed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wanted, reset),
		cmocka_unit_test_setup(test_not_wanted, reset),
		cmocka_unit_test_setup(test_not_to_be_had, reset),
		cmocka_unit_test_setup(test_fails, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
