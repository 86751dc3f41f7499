/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory operands of one 64-bit instruction, computed from the registers it
 * is about to run with: exact or nothing.  Not a disassembler: it knows lengths,
 * operand addresses, sizes and directions, and which registers an instruction
 * changes, so that a straight line can be walked.  No kernel service is used and
 * nothing outside the arguments is touched; it builds in user space for its test.
 */
#ifndef CP_DECODE_H
#define CP_DECODE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "decode_user.h"
#endif

enum {
	CP_INSN_BYTES = 15,
	CP_INSN_ACCESSES = 2,
	CP_KNOWN_FS = 16, /* bits of cp_cpu.known after the 16 registers */
	CP_KNOWN_GS,
	CP_KNOWN_ALL = (1 << 18) - 1,
};

struct cp_cpu {
	u64 reg[16];
	u64 fs_base;
	u64 gs_base;
	u64 ip;
	bool down; /* direction flag */
	u32 known;
};

struct cp_operand {
	u64 addr;
	u64 size_bytes;
	u16 flags;  /* CP_ACCESS_* */
	bool known; /* addr and size_bytes hold values */
};

struct cp_insn {
	u8 bytes;
	u8 n;
	bool ends;    /* what runs next is not the next instruction, or not known */
	u32 clobbers; /* registers whose value is not known afterwards */
	u32 bases;    /* registers that the operands' addresses are made of */
	struct cp_operand operand[CP_INSN_ACCESSES];
};

/* 0, -ENODATA when the instruction goes on past avail, -EINVAL when not known. */
int cp_decode(const u8 *text, u32 avail, const struct cp_cpu *cpu, struct cp_insn *ret);
/* What cpu looks like after an instruction that does not end the line. */
void cp_decode_step(struct cp_cpu *cpu, const struct cp_insn *insn);

#endif
