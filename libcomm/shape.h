/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instruction as the disassembler describes it, on its way to become a
 * micro-operation (insn.h), and what it costs by the timing model (clock.h).
 * For insn.c and shape.c only: nobody else includes the disassembler.
 */
#ifndef COMM_SHAPE_H
#define COMM_SHAPE_H

#include <Zydis/Zydis.h>

#include "insn.h"

struct comm_shape {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/* A plain general register as the emulator numbers it, or -1. */
int comm_shape_gpr(ZydisRegister reg);
bool comm_shape_writes(const ZydisDecodedOperand *operand);
/* Which registers it waits for, which it makes ready, and its class of cost. */
void comm_shape_cost(const struct comm_shape *s, struct comm_uop *u);

#endif
