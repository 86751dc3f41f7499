/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What masks make of an instruction: the lanes of memory that AVX-512's mask registers choose, and what these become.
 * For insn.c, as insn_zydis.h.
 */
#ifndef COMM_INSN_MASK_H
#define COMM_INSN_MASK_H

#include "insn_zydis.h"

/* The number of a mask register; -1: it is none. */
int comm_insn_mask_register(ZydisRegister reg);
/* Whether a mask register, or the signs of a vector, choose what the instruction accesses. */
bool comm_insn_mask_chooses(const struct comm_insn_zydis *s);
/*
 * Lanes of plain memory that a mask register chooses.  False: it is no such access, and where it is
 * masked otherwise its extent is not known.
 */
bool comm_insn_mask_lanes(const struct comm_insn_zydis *s, const ZydisDecodedOperand *o,
			  struct comm_uop *u);
/*
 * A mask register that becomes what a general one holds, or all zeros or ones.  False: it is another instruction,
 * and *u as it was.
 */
bool comm_insn_mask_set(const struct comm_insn_zydis *s, struct comm_uop *u);

#endif
