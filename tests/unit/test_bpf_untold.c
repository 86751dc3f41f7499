// SPDX-License-Identifier: GPL-2.0-or-later
/* One failed update of a BPF map: made good at the next drain, or the one after. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/source/bpf_untold.c"

static struct comm_raw_ctl ctl;
static uint32_t noted[8], refused, interrupts;
static int n;

static int note(void *ctx, uint32_t id)
{
	(void)ctx;
	if (interrupts) {
		/* A BPF program fails on another CPU, with an id of the same place. */
		ctl.untold[id % COMM_RAW_UNTOLD] = interrupts;
		ctl.tell_all = 1;
		interrupts = 0;
	}
	if (id == refused)
		return -ENOMEM;
	noted[n++] = id;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	ctl = (struct comm_raw_ctl){.tell_all = 1};
	n = 0;
	refused = interrupts = 0;
	return 0;
}

static void test_noted(void **state)
{
	(void)state;
	ctl.untold[5] = 5;
	ctl.untold[6] = 70;
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_true(n == 2 && noted[0] == 5 && noted[1] == 70);
	assert_int_equal(ctl.tell_all, 0);
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_int_equal(n, 2);
}

/* There is still no capacity: all is told until there is. */
static void test_again(void **state)
{
	(void)state;
	ctl.untold[5] = refused = 5;
	ctl.untold[6] = 70;
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_true(n == 1 && ctl.tell_all == 1);
	refused = 0;
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_true(n == 2 && noted[1] == 5 && ctl.tell_all == 0);
}

static void test_meanwhile(void **state)
{
	(void)state;
	ctl.untold[5] = 5;
	interrupts = 5 + COMM_RAW_UNTOLD;
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_true(n == 1 && ctl.tell_all == 1);
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_true(n == 2 && noted[1] == 5 + COMM_RAW_UNTOLD && ctl.tell_all == 0);
}

/* More than have a place: nobody knows whom, so all is told for good. */
static void test_more(void **state)
{
	(void)state;
	ctl.untold[5] = 5;
	ctl.untold_more = 1;
	comm_bpf_untold_note(&ctl, note, NULL);
	assert_true(!n && ctl.tell_all == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_noted, begin),
		cmocka_unit_test_setup(test_again, begin),
		cmocka_unit_test_setup(test_meanwhile, begin),
		cmocka_unit_test_setup(test_more, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
