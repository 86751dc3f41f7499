/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The longest time that the rings of the kernel waited for the loop that reads them, beyond the sleep that was meant:
 * what the loop did or waited for meanwhile, and how long it had no CPU.
 */
#ifndef COMMD_STALL_H
#define COMMD_STALL_H

#include <stdint.h>

/* A zeroed one is ready. */
struct comm_stall {
	uint64_t read_ns, longest_ns;
};

/* The rings are read now, after a sleep of at most slept_ms. */
static inline void comm_stall_read(struct comm_stall *stall, uint64_t now_ns, int slept_ms)
{
	uint64_t meant_ns = slept_ms > 0 ? (uint64_t)slept_ms * 1000000 : 0;

	if (stall->read_ns && now_ns - stall->read_ns > meant_ns + stall->longest_ns)
		stall->longest_ns = now_ns - stall->read_ns - meant_ns;
	stall->read_ns = now_ns;
}

#endif
