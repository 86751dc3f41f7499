// SPDX-License-Identifier: GPL-2.0-or-later
/* Data sources as the kernel's drivers make them, and what each means. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data_src.h"

#define P(a, b) PERF_MEM_S(a, b)

/* pebs_data_source and its successors (arch/x86/events/intel/ds.c), then IBS' (amd/ibs.c). */
static const struct {
	uint64_t src;
	enum comm_data_from from;
} known[] = {
	{0, COMM_FROM_UNKNOWN},
	{P(OP, NA) | P(LVL, NA) | P(SNOOP, NA), COMM_FROM_UNKNOWN},
	{P(OP, LOAD) | P(LVL, MISS) | P(LVL, L3) | P(SNOOP, NA), COMM_FROM_UNKNOWN},
	{P(OP, LOAD) | P(LVL, MISS) | P(LVLNUM, L3) | P(SNOOP, NA), COMM_FROM_UNKNOWN},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L1) | P(LVLNUM, L1) | P(SNOOP, NONE), COMM_FROM_OWN},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, LFB) | P(LVLNUM, LFB) | P(SNOOP, NONE), COMM_FROM_OWN},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L2) | P(LVLNUM, L2) | P(SNOOP, NONE), COMM_FROM_OWN},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(LVLNUM, L3) | P(SNOOP, NONE), COMM_FROM_L3},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(LVLNUM, L3) | P(SNOOP, MISS), COMM_FROM_L3},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(LVLNUM, L3) | P(SNOOP, HIT), COMM_FROM_PEER},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(LVLNUM, L3) | P(SNOOPX, FWD), COMM_FROM_PEER},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(LVLNUM, L3) | P(SNOOP, HITM),
	 COMM_FROM_MODIFIED},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, LOC_RAM) | P(LVLNUM, RAM) | P(SNOOP, HIT),
	 COMM_FROM_MEMORY},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_RAM1) | P(LVLNUM, RAM) | P(REMOTE, REMOTE) |
		 P(SNOOP, HIT),
	 COMM_FROM_REMOTE_MEMORY},
	/* Sandy Bridge: the number is that of the level that missed. */
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_RAM1) | P(LVLNUM, L3) | P(REMOTE, REMOTE) |
		 P(SNOOP, HIT),
	 COMM_FROM_REMOTE_MEMORY},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE1) | P(LVLNUM, L3) | P(REMOTE, REMOTE) |
		 P(SNOOP, HIT),
	 COMM_FROM_REMOTE},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE1) | P(LVLNUM, L3) | P(REMOTE, REMOTE) |
		 P(SNOOP, HITM),
	 COMM_FROM_REMOTE_MODIFIED},
	/* Skylake on. */
	{P(OP, LOAD) | P(LVL, HIT) | P(LVLNUM, RAM) | P(REMOTE, REMOTE) | P(SNOOP, NONE),
	 COMM_FROM_REMOTE_MEMORY},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVLNUM, ANY_CACHE) | P(REMOTE, REMOTE) | P(SNOOPX, FWD),
	 COMM_FROM_REMOTE},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVLNUM, ANY_CACHE) | P(REMOTE, REMOTE) | P(SNOOP, HITM),
	 COMM_FROM_REMOTE_MODIFIED},
	/* Crestmont: forwarded before the memory answered. */
	{P(OP, LOAD) | P(LVL, HIT) | P(LVLNUM, RAM) | P(REMOTE, REMOTE) | P(SNOOPX, FWD),
	 COMM_FROM_REMOTE},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVLNUM, RAM) | P(REMOTE, REMOTE) | P(SNOOP, HITM),
	 COMM_FROM_REMOTE_MODIFIED},
	/* Lion Cove: fill buffers behind L2, the memory's own cache, a miss of L3 told as HITM. */
	{P(OP, LOAD) | P(LVL, HIT) | 5ULL << PERF_MEM_LVLNUM_SHIFT | P(SNOOP, NONE), COMM_FROM_OWN},
	{P(OP, LOAD) | P(LVL, HIT) | 6ULL << PERF_MEM_LVLNUM_SHIFT | P(SNOOP, NONE),
	 COMM_FROM_MEMORY},
	{P(OP, LOAD) | P(LVL, MISS) | P(LVL, L3) | P(LVLNUM, L3) | P(SNOOP, HITM),
	 COMM_FROM_MODIFIED},
	/* What events that count all loads leave, from Haswell on: the direction. */
	{P(OP, LOAD) | P(LVL, NA) | P(LVLNUM, NA) | P(SNOOP, NA), COMM_FROM_UNKNOWN},
	{P(OP, LOAD) | P(LVLNUM, L3) | P(REMOTE, REMOTE) | P(SNOOP, HITM),
	 COMM_FROM_REMOTE_MODIFIED},
	{P(OP, LOAD) | P(LVLNUM, PMEM) | P(REMOTE, REMOTE) | P(HOPS, 1), COMM_FROM_REMOTE_MEMORY},
	{P(OP, LOAD) | P(LVLNUM, PMEM), COMM_FROM_MEMORY},
	{P(OP, LOAD) | P(LVLNUM, CXL), COMM_FROM_MEMORY},
	/* Zen 3 and before: the cache of this or another complex of cores. */
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(LVL, REM_CCE1) | P(LVLNUM, ANY_CACHE) |
		 P(HOPS, 0) | P(SNOOP, NA),
	 COMM_FROM_L3},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE1), COMM_FROM_PEER},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE1) | P(SNOOP, HITM), COMM_FROM_MODIFIED},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE2), COMM_FROM_REMOTE},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE2) | P(SNOOP, HITM), COMM_FROM_REMOTE_MODIFIED},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_CCE2) | P(LVLNUM, ANY_CACHE) | P(REMOTE, REMOTE) |
		 P(HOPS, 1) | P(SNOOP, NA),
	 COMM_FROM_REMOTE},
	{P(OP, LOAD) | P(LVL, HIT) | P(LVL, REM_RAM1) | P(LVLNUM, RAM) | P(REMOTE, REMOTE) |
		 P(HOPS, 1) | P(SNOOP, NA),
	 COMM_FROM_REMOTE_MEMORY},
	/* Newer kernels for Zen: a core of the socket is remote with no hop. */
	{P(OP, LOAD) | P(LVLNUM, ANY_CACHE) | P(REMOTE, REMOTE) | P(HOPS, 0), COMM_FROM_PEER},
	{P(OP, LOAD) | P(LVLNUM, L2) | P(REMOTE, REMOTE) | P(HOPS, 0), COMM_FROM_PEER},
	{P(OP, LOAD) | P(LVLNUM, ANY_CACHE) | P(REMOTE, REMOTE) | P(HOPS, 0) | P(SNOOP, HITM),
	 COMM_FROM_MODIFIED},
	{P(OP, STORE) | P(LVL, HIT) | P(LVL, L1) | P(SNOOP, NA), COMM_FROM_OWN},
	{P(OP, STORE) | P(LVL, MISS) | P(LVL, L1) | P(SNOOP, NA), COMM_FROM_UNKNOWN},
	{P(OP, LOAD) | P(LVL, UNC) | P(LVL, HIT), COMM_FROM_UNKNOWN},
};

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (comm_data_from(known[i].src) != known[i].from)
			fail_msg("%zu: %s", i, comm_data_from_name(comm_data_from(known[i].src)));
	assert_string_equal(comm_data_from_name(COMM_FROM_REMOTE_MODIFIED), "remote_modified");
	assert_string_equal(comm_data_from_name(COMM_FROM_MAX), "unknown");
	for (int i = 0; i < COMM_FROM_MAX; i++)
		assert_int_equal(comm_data_from_find(comm_data_from_name(i)), i);
	assert_int_equal(comm_data_from_find("nowhere"), COMM_FROM_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
