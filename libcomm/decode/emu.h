/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread's state during a burst, bit by bit known or unknown, and what
 * data instructions do to it.  Nothing here guesses: a result bit is known
 * only when the known bits determine it.
 *
 * What it is not for: string instructions (string_insn.h), the flow of control,
 * the stack and time (burst.c).
 */
#ifndef COMM_EMU_H
#define COMM_EMU_H

#include "insn.h"
#include "known_memory.h"

struct comm_emu {
	/* By COMM_UREG_*; unknown bits are 0 in bits[]. */
	uint64_t bits[COMM_UREG_MAX];
	uint64_t known[COMM_UREG_MAX];
	uint32_t flags, flags_known; /* EFLAGS positions */
	uint64_t mask[8];	     /* the opmask registers */
	uint8_t masks_known;	     /* bit i: mask[i] */
	struct comm_known_memory overlay;
};

enum comm_truth { COMM_FALSE, COMM_TRUE, COMM_MAYBE };

void comm_emu_begin(struct comm_emu *emu, const struct comm_sample *sample);

/* A condition code in its x86 encoding. */
enum comm_truth comm_emu_condition(const struct comm_emu *emu, unsigned code);

/*
 * Runs a data instruction.  addr is that of its memory operand; has_addr false:
 * the address is unknown, so a load gives unknown bits and a store may have hit
 * any memory.  False when the instruction raises an exception.
 */
bool comm_emu_exec(struct comm_emu *emu, const struct comm_uop *u, uint64_t addr, bool has_addr);

/* Compares like cmp: for the string instructions. */
void comm_emu_compare(struct comm_emu *emu, struct comm_value a, struct comm_value b,
		      unsigned width);

static inline struct comm_value comm_emu_reg(const struct comm_emu *emu, unsigned reg,
					     unsigned width)
{
	uint64_t mask = comm_width_mask(width);
	unsigned r = reg & 15, by = reg & COMM_UREG_HIGH ? 8 : 0;
	struct comm_value v = {emu->bits[r] >> by & mask, emu->known[r] >> by & mask};

	return v;
}

static inline void comm_emu_set_reg(struct comm_emu *emu, unsigned reg, unsigned width,
				    struct comm_value v)
{
	unsigned r = reg & 15, by = reg & COMM_UREG_HIGH ? 8 : 0;
	uint64_t mask;

	if (width == 8) {
		emu->bits[r] = v.bits & v.known;
		emu->known[r] = v.known;
		return;
	}
	mask = comm_width_mask(width);
	v.known &= mask;
	v.bits &= v.known;
	if (width == 4) { /* clears the upper half */
		emu->bits[r] = v.bits;
		emu->known[r] = v.known | ~mask;
		return;
	}
	emu->bits[r] = (emu->bits[r] & ~(mask << by)) | v.bits << by;
	emu->known[r] = (emu->known[r] & ~(mask << by)) | v.known << by;
}

/* To a register of eight bytes; of a sum nothing is known where not all of it is. */
static inline void comm_emu_add(struct comm_emu *emu, unsigned reg, uint64_t by)
{
	struct comm_value v = {emu->bits[reg] + by, emu->known[reg]};

	if (v.known != ~0ULL)
		v.known = 0;
	comm_emu_set_reg(emu, reg, 8, v);
}

#endif
