// SPDX-License-Identifier: GPL-2.0-or-later
#include "cycles.h"
#include "clock.h"

enum { ROUNDS = 400, CHAIN = 512, IMUL_CYCLES = 3, TRIES = 8 };

double comm_cycles_per_ns(void)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t start_ns = comm_clock_now_ns(), took_ns, value = 3;

		for (int round = 0; round < ROUNDS; round++)
			__asm__ volatile(".rept 512\n\timul %0, %0\n\t.endr" : "+r"(value));
		took_ns = comm_clock_now_ns() - start_ns;
		/* Interrupts only ever lengthen a run: the shortest is right. */
		if (took_ns < best_ns)
			best_ns = took_ns;
	}
	return (double)ROUNDS * CHAIN * IMUL_CYCLES / (double)(best_ns ? best_ns : 1);
}
