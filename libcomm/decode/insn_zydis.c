// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn_zydis.h"

/* Latency and throughput in the middle between Zen 3..5 and Ice Lake..Golden Cove. */
const struct comm_cost comm_cost_table[COMM_COST_MAX] = {
	[COMM_COST_ALU] = {1, 0.2F, COMM_PORT_ALU},    [COMM_COST_NONE] = {0, 0, COMM_PORT_ALU},
	[COMM_COST_BRANCH] = {1, 0.2F, COMM_PORT_ALU}, [COMM_COST_MUL] = {3, 1, COMM_PORT_MUL},
	[COMM_COST_DIV32] = {11, 6, COMM_PORT_DIV},    [COMM_COST_DIV64] = {14, 7, COMM_PORT_DIV},
	[COMM_COST_VEC] = {1, 0.33F, COMM_PORT_VEC},   [COMM_COST_FPADD] = {3, 0.5F, COMM_PORT_VEC},
	[COMM_COST_FPMUL] = {4, 0.5F, COMM_PORT_VEC},  [COMM_COST_FPDIV] = {13, 5, COMM_PORT_DIV},
	[COMM_COST_FPSQRT] = {18, 8, COMM_PORT_DIV},   [COMM_COST_CROSS] = {5, 1, COMM_PORT_VEC},
	[COMM_COST_X87] = {6, 1, COMM_PORT_VEC},       [COMM_COST_LOCK] = {14, 19, COMM_PORT_ALU},
	[COMM_COST_STRING] = {4, 2, COMM_PORT_ALU},    [COMM_COST_SLOW] = {40, 30, COMM_PORT_ALU},
};

int comm_insn_zydis_gpr(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_AL && reg <= ZYDIS_REGISTER_BL)
		return reg - ZYDIS_REGISTER_AL;
	if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
		return (reg - ZYDIS_REGISTER_AH) | COMM_UREG_HIGH;
	if (reg >= ZYDIS_REGISTER_SPL && reg <= ZYDIS_REGISTER_R15B)
		return reg - ZYDIS_REGISTER_SPL + 4;
	if (reg >= ZYDIS_REGISTER_AX && reg <= ZYDIS_REGISTER_R15W)
		return reg - ZYDIS_REGISTER_AX;
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return reg - ZYDIS_REGISTER_EAX;
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return reg - ZYDIS_REGISTER_RAX;
	return -1;
}

bool comm_insn_zydis_writes(const ZydisDecodedOperand *o)
{
	return o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

static int ready_id(ZydisRegister reg)
{
	int r = comm_insn_zydis_gpr(reg);

	if (r >= 0)
		return r & 15;
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return COMM_READY_VECTOR + (ZydisRegisterGetId(reg) & 31);
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		return COMM_READY_X87;
	case ZYDIS_REGCLASS_MASK:
		return COMM_READY_MASK;
	default:
		return COMM_READY_NONE;
	}
}

/* Sets which registers the instruction waits for and which it makes ready. */
static void set_timing(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	const ZydisAccessedFlags *f = s->insn.cpu_flags;
	int n_in = u->bits & COMM_UOP_MEM ? 2 : 0, n_out = 0;
	bool zeroing = false;

	if (s->insn.operand_count_visible >= 2) {
		const ZydisDecodedOperand *a = &s->op[s->insn.operand_count_visible - 2];
		const ZydisDecodedOperand *b = &s->op[s->insn.operand_count_visible - 1];

		switch (s->insn.mnemonic) {
		case ZYDIS_MNEMONIC_XOR:
		case ZYDIS_MNEMONIC_SUB:
		case ZYDIS_MNEMONIC_PXOR:
		case ZYDIS_MNEMONIC_XORPS:
		case ZYDIS_MNEMONIC_XORPD:
		case ZYDIS_MNEMONIC_VPXOR:
		case ZYDIS_MNEMONIC_VPXORD:
		case ZYDIS_MNEMONIC_VPXORQ:
		case ZYDIS_MNEMONIC_VXORPS:
		case ZYDIS_MNEMONIC_VXORPD:
			zeroing = a->type == ZYDIS_OPERAND_TYPE_REGISTER &&
				  b->type == ZYDIS_OPERAND_TYPE_REGISTER &&
				  a->reg.value == b->reg.value;
			break;
		default:
			break;
		}
	}
	for (int i = 0; i < s->insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &s->op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && !(u->bits & COMM_UOP_MEM) &&
		    o->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
			if (n_in < 4 && comm_insn_zydis_gpr(o->mem.base) >= 0)
				u->in[n_in++] = (uint8_t)comm_insn_zydis_gpr(o->mem.base);
			if (n_in < 4 && comm_insn_zydis_gpr(o->mem.index) >= 0)
				u->in[n_in++] = (uint8_t)comm_insn_zydis_gpr(o->mem.index);
		}
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		/* Implicit updates of rsp have no latency: the CPU's stack engine does them. */
		if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		    comm_insn_zydis_gpr(o->reg.value) == COMM_RSP)
			continue;
		if (!zeroing && n_in < 4 && (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
		    ready_id(o->reg.value) != COMM_READY_NONE)
			u->in[n_in++] = (uint8_t)ready_id(o->reg.value);
		if (comm_insn_zydis_writes(o) && n_out < 2 &&
		    ready_id(o->reg.value) != COMM_READY_NONE)
			u->out[n_out++] = (uint8_t)ready_id(o->reg.value);
	}
	if (f && (f->tested & COMM_FLAGS_ALU))
		u->bits |= COMM_UOP_FLAGS_IN;
	if (f && ((f->modified | f->set_0 | f->set_1) & COMM_FLAGS_ALU) && n_out < 2)
		u->out[n_out++] = COMM_READY_FLAGS;
}

static enum comm_cost_class cost_of(const struct comm_insn_zydis *s, const struct comm_uop *u)
{
	switch (s->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MULX:
	case ZYDIS_MNEMONIC_PDEP:
	case ZYDIS_MNEMONIC_PEXT:
	case ZYDIS_MNEMONIC_CRC32:
		return COMM_COST_MUL;
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return u->width == 8 ? COMM_COST_DIV64 : COMM_COST_DIV32;
	case ZYDIS_MNEMONIC_DIVSD:
	case ZYDIS_MNEMONIC_DIVPD:
	case ZYDIS_MNEMONIC_DIVSS:
	case ZYDIS_MNEMONIC_DIVPS:
	case ZYDIS_MNEMONIC_VDIVSD:
	case ZYDIS_MNEMONIC_VDIVPD:
	case ZYDIS_MNEMONIC_VDIVSS:
	case ZYDIS_MNEMONIC_VDIVPS:
	case ZYDIS_MNEMONIC_FDIV:
	case ZYDIS_MNEMONIC_FDIVP:
	case ZYDIS_MNEMONIC_FDIVR:
	case ZYDIS_MNEMONIC_FDIVRP:
		return COMM_COST_FPDIV;
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTPD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_SQRTPS:
	case ZYDIS_MNEMONIC_VSQRTSD:
	case ZYDIS_MNEMONIC_VSQRTPD:
	case ZYDIS_MNEMONIC_VSQRTSS:
	case ZYDIS_MNEMONIC_VSQRTPS:
	case ZYDIS_MNEMONIC_FSQRT:
		return COMM_COST_FPSQRT;
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDPD:
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_ADDPS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBPD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_SUBPS:
	case ZYDIS_MNEMONIC_VADDSD:
	case ZYDIS_MNEMONIC_VADDPD:
	case ZYDIS_MNEMONIC_VADDSS:
	case ZYDIS_MNEMONIC_VADDPS:
	case ZYDIS_MNEMONIC_VSUBSD:
	case ZYDIS_MNEMONIC_VSUBPD:
	case ZYDIS_MNEMONIC_VSUBSS:
	case ZYDIS_MNEMONIC_VSUBPS:
		return COMM_COST_FPADD;
	case ZYDIS_MNEMONIC_MULSD:
	case ZYDIS_MNEMONIC_MULPD:
	case ZYDIS_MNEMONIC_MULSS:
	case ZYDIS_MNEMONIC_MULPS:
	case ZYDIS_MNEMONIC_VMULSD:
	case ZYDIS_MNEMONIC_VMULPD:
	case ZYDIS_MNEMONIC_VMULSS:
	case ZYDIS_MNEMONIC_VMULPS:
		return COMM_COST_FPMUL;
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_SERIALIZE:
		return COMM_COST_SLOW;
	default:
		break;
	}
	if (u->bits & COMM_UOP_ATOMIC)
		return COMM_COST_LOCK;
	switch (s->insn.meta.category) {
	case ZYDIS_CATEGORY_VFMA:
	case ZYDIS_CATEGORY_FMA4:
		return COMM_COST_FPMUL;
	case ZYDIS_CATEGORY_CONVERT:
		return COMM_COST_CROSS;
	case ZYDIS_CATEGORY_X87_ALU:
		return COMM_COST_X87;
	case ZYDIS_CATEGORY_STRINGOP:
		return COMM_COST_STRING;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CET:
		return COMM_COST_NONE;
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		return COMM_COST_BRANCH;
	default:
		break;
	}
	if (u->op == COMM_OP_MOV && ((u->bits & COMM_UOP_MEM) || u->width >= 4))
		return COMM_COST_NONE;
	if (s->insn.meta.category == ZYDIS_CATEGORY_DATAXFER && (u->bits & COMM_UOP_MEM))
		return COMM_COST_NONE;
	if (u->out[0] >= COMM_READY_VECTOR) {
		for (int i = u->bits & COMM_UOP_MEM ? 2 : 0; i < 4; i++)
			if (u->in[i] < COMM_NGPR)
				return COMM_COST_CROSS;
		return COMM_COST_VEC;
	}
	if (u->op == COMM_OP_OTHER && u->clobbers) {
		for (int i = 0; i < 4; i++)
			if (u->in[i] >= COMM_READY_VECTOR)
				return COMM_COST_CROSS;
	}
	return COMM_COST_ALU;
}

void comm_insn_zydis_cost(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	set_timing(s, u);
	u->cost = (uint8_t)cost_of(s, u);
}
