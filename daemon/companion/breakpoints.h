/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Breakpoints: debug registers of every CPU, aimed at data from user space by linux/hw_breakpoint.h and
 * seen through perf.  A slot is one register of each CPU; all descriptors are opened at once, so that no
 * privilege is needed later.  A trap tells thread, place and registers behind the access.
 *
 * What it is not for: which data are watched, for how long, and what the traps mean (register_window.h).
 * One thread uses it.
 */
#ifndef COMM_BREAKPOINTS_H
#define COMM_BREAKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "trapped.h"

enum {
	/* Of one CPU and slot: so many traps, and it is stopped until it is aimed again. */
	COMM_BREAKPOINT_TRAPS = 16,
};

struct comm_breakpoint_trap {
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint16_t cpu;
	uint8_t mode_bits;    /* of the code: 64, or 32 */
	unsigned int nth_cpu; /* less than comm_breakpoints_cpus() */
	struct comm_trap at;  /* addr: as it was aimed; size_bytes is not set */
};

typedef void comm_breakpoint_trap_fn(void *ctx, const struct comm_breakpoint_trap *trap);

struct comm_breakpoints;

/* Can they be used here and now?  *why: a sentence, malloc'ed: why not, or how many. */
int comm_breakpoints_probe(char **why);
/* slots: registers of each CPU, as far as they are free; trap_ns: what a trap costs the target. */
int comm_breakpoints_create(uint32_t slots, double trap_ns, struct comm_breakpoints **ret,
			    char **err);
void comm_breakpoints_destroy(struct comm_breakpoints *points);

unsigned int comm_breakpoints_slots(const struct comm_breakpoints *points);
unsigned int comm_breakpoints_cpus(const struct comm_breakpoints *points);

/*
 * From now on a slot traps writes of the datum, and with reads also its reads: 1, 2, 4 or 8 bytes, aligned.
 * It may be aimed at something else; then a CPU misses what happens while its own register is set.  False: it
 * cannot be had, and is silent.  That is all of them from when a CPU is back and has no breakpoints.
 */
bool comm_breakpoints_aim(struct comm_breakpoints *points, unsigned int slot, uint64_t addr,
			  uint32_t bytes, bool reads);
void comm_breakpoints_silence(struct comm_breakpoints *points, unsigned int slot);
/*
 * Calls fn for each trap since the last time: of one CPU in order.  Returns how many records were lost
 * meanwhile, or were none; and CPUs that went or are back count as one each.
 */
uint64_t comm_breakpoints_drain(struct comm_breakpoints *points, comm_breakpoint_trap_fn *fn,
				void *ctx);

/*
 * While any register is set, string instructions (rep movs, rep stos) go on byte by byte.  The part of their time that is
 * lost by that, 1 - time without / time with a register set, as measured at creation; below 0: it could not be.
 */
double comm_breakpoints_string_loss(const struct comm_breakpoints *points);

/* Breakpoints of CPUs that are back and have none. */
uint64_t comm_breakpoints_unopened(const struct comm_breakpoints *points);
/* Traps so far, and the time that they and setting registers took from the target. */
uint64_t comm_breakpoints_traps(const struct comm_breakpoints *points);
uint64_t comm_breakpoints_cost_ns(const struct comm_breakpoints *points);

#endif
