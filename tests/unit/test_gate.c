// SPDX-License-Identifier: GPL-2.0-or-later
/* What is sampled while sampling is disabled does not pass; what it needs to go on does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/gate.c"

static bool passes(const struct comm_gate *gate, uint16_t kind, uint64_t time_ns)
{
	const struct comm_event event = {.kind = kind, .time_ns = time_ns};

	return comm_gate_passes(gate, &event);
}

static void test_gate(void **state)
{
	static const uint16_t sampled[] = {COMM_EV_SAMPLE, COMM_EV_ACCESS, COMM_EV_CENSUS,
					   COMM_EV_FED,	   COMM_EV_KCOPY,  COMM_EV_TOUCH,
					   COMM_EV_MARK,   COMM_EV_COUNT};

	(void)state;
	for (size_t i = 0; i < sizeof(sampled) / sizeof(*sampled); i++) {
		struct comm_gate gate = {0};

		assert_true(passes(&gate, sampled[i], 0) && passes(&gate, sampled[i], 900));
		comm_gate_set(&gate, true, 1000);
		assert_true(passes(&gate, sampled[i], 999) && !passes(&gate, sampled[i], 1000));
		/* Told twice, it is shut since the first time. */
		comm_gate_set(&gate, true, 2000);
		assert_false(passes(&gate, sampled[i], 1500));
		comm_gate_set(&gate, false, 3000);
		assert_true(!passes(&gate, sampled[i], 2999) && passes(&gate, sampled[i], 3000));
	}
}

static void test_life_cycle(void **state)
{
	static const uint16_t others[] = {COMM_EV_SWITCH, COMM_EV_FORK, COMM_EV_EXEC,
					  COMM_EV_EXIT,	  COMM_EV_MMAP, COMM_EV_RATE,
					  COMM_EV_COST,	  COMM_EV_LOSS, COMM_EV_RENAME};
	struct comm_gate gate = {0};

	(void)state;
	comm_gate_set(&gate, true, 1000);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_true(passes(&gate, others[i], 999) && passes(&gate, others[i], 1001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_life_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
