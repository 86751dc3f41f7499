// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn_mask.h"

int comm_insn_mask_register(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_K0 && reg <= ZYDIS_REGISTER_K7
		       ? (int)reg - (int)ZYDIS_REGISTER_K0
		       : -1;
}

/* Lanes that the signs of a vector choose: which, nobody here knows. */
static bool is_masked_by_vector(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return true;
	default:
		return false;
	}
}

bool comm_insn_mask_chooses(const struct comm_insn_zydis *s)
{
	return (s->insn.avx.mask.reg != ZYDIS_REGISTER_NONE &&
		s->insn.avx.mask.reg != ZYDIS_REGISTER_K0) ||
	       is_masked_by_vector(s->insn.mnemonic);
}

/* Moves read what their mask chooses; other instructions may read all of their operand. */
static bool moves(const struct comm_insn_zydis *s)
{
	switch (s->insn.mnemonic) {
	case ZYDIS_MNEMONIC_VMOVDQA32:
	case ZYDIS_MNEMONIC_VMOVDQA64:
	case ZYDIS_MNEMONIC_VMOVDQU8:
	case ZYDIS_MNEMONIC_VMOVDQU16:
	case ZYDIS_MNEMONIC_VMOVDQU32:
	case ZYDIS_MNEMONIC_VMOVDQU64:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
		return true;
	default:
		return s->insn.meta.category == ZYDIS_CATEGORY_EXPAND ||
		       s->insn.meta.category == ZYDIS_CATEGORY_COMPRESS;
	}
}

bool comm_insn_mask_lanes(const struct comm_insn_zydis *s, const ZydisDecodedOperand *o,
			  struct comm_uop *u)
{
	int mask = comm_insn_mask_register(s->insn.avx.mask.reg);

	if (mask <= 0 || u->bits & COMM_UOP_UNSURE || o->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
	    s->insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID || !moves(s) ||
	    o->element_size < 8 || o->element_size > 64 || o->element_count > 64 ||
	    o->element_size * o->element_count != o->size)
		return false;
	u->bits |= COMM_UOP_MASKED;
	u->src2 = (uint8_t)mask;
	u->width = (uint8_t)(o->element_size / 8);
	u->cond = s->insn.meta.category == ZYDIS_CATEGORY_EXPAND ||
		  s->insn.meta.category == ZYDIS_CATEGORY_COMPRESS;
	return true;
}

/* How wide a move between mask and general registers is, and what sets a mask by itself; 0: another. */
static unsigned mask_bytes(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
#define WIDTHS(name)                   \
	case ZYDIS_MNEMONIC_##name##B: \
		return 1;              \
	case ZYDIS_MNEMONIC_##name##W: \
		return 2;              \
	case ZYDIS_MNEMONIC_##name##D: \
		return 4;              \
	case ZYDIS_MNEMONIC_##name##Q: \
		return 8
		WIDTHS(KMOV);
		WIDTHS(KXOR);
		WIDTHS(KXNOR);
#undef WIDTHS
	default:
		return 0;
	}
}

static bool is_kxnor(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_KXNORB || mnemonic == ZYDIS_MNEMONIC_KXNORW ||
	       mnemonic == ZYDIS_MNEMONIC_KXNORD || mnemonic == ZYDIS_MNEMONIC_KXNORQ;
}

bool comm_insn_mask_set(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	unsigned width = mask_bytes(s->insn.mnemonic);
	int dst = -1, src = -1;

	if (!width || s->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    s->op[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	dst = comm_insn_mask_register(s->op[0].reg.value);
	src = comm_insn_zydis_gpr(s->op[1].reg.value);
	if (dst < 0)
		return false;
	if (s->insn.operand_count_visible == 3 && s->op[1].reg.value == s->op[2].reg.value) {
		u->op = COMM_OP_KSET;
		u->imm = is_kxnor(s->insn.mnemonic) ? (int64_t)(~0ULL >> (64 - 8 * width)) : 0;
	} else if (s->insn.operand_count_visible == 2 && src >= 0) {
		u->op = COMM_OP_KMOV;
		u->src = (uint8_t)src;
	} else {
		return false;
	}
	u->dst = (uint8_t)dst;
	u->width = (uint8_t)width;
	return true;
}
