// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of losses become events: each loss is told once, by its cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/loss_teller.c"

static struct comm_event got[COMM_LOSS_MAX];
static int n_got;

static void take(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_true(n_got < COMM_LOSS_MAX);
	got[n_got++] = *event;
}

static void test_told_once(void **state)
{
	uint64_t count[COMM_LOSS_MAX] = {0};
	struct comm_loss_teller losses = {0};

	(void)state;
	assert_int_equal(comm_loss_tell(&losses, count, 1, take, NULL), 0);
	count[COMM_LOSS_RING] = 7;
	count[COMM_LOSS_MAX - 1] = 1;
	assert_int_equal(comm_loss_tell(&losses, count, 2, take, NULL), 2);
	assert_int_equal(n_got, 2);
	assert_int_equal(got[0].kind, COMM_EV_LOSS);
	assert_int_equal(got[0].cause, COMM_LOSS_RING);
	assert_int_equal(got[0].count, 7);
	assert_int_equal(got[0].time_ns, 2);
	assert_int_equal(got[1].cause, COMM_LOSS_MAX - 1);
	assert_int_equal(got[1].count, 1);
	assert_int_equal(comm_loss_tell(&losses, count, 3, take, NULL), 0);
	count[COMM_LOSS_RING] = 10;
	assert_int_equal(comm_loss_tell(&losses, count, 4, take, NULL), 1);
	assert_int_equal(got[2].count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
