/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instruction as the disassembler describes it, on its way to become a
 * micro-operation (insn.h), and what it costs by the timing model (timing.h).
 * For insn.c, insn_mask.c and insn_zydis.c only; beside them type_insn.c alone includes the disassembler.
 */
#ifndef COMM_INSN_ZYDIS_H
#define COMM_INSN_ZYDIS_H

#include <Zydis/Zydis.h>

#include "insn.h"

struct comm_insn_zydis {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/* A plain general register as the emulator numbers it, or -1. */
int comm_insn_zydis_gpr(ZydisRegister reg);
bool comm_insn_zydis_writes(const ZydisDecodedOperand *operand);
/* Sets which registers the instruction waits for, which it makes ready, and its cost class. */
void comm_insn_zydis_cost(const struct comm_insn_zydis *s, struct comm_uop *u);

#endif
