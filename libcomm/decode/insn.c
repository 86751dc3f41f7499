// SPDX-License-Identifier: GPL-2.0-or-later
#include "insn.h"

#include <errno.h>
#include <string.h>

#include "insn_mask.h"
#include "insn_zydis.h"

static void set_memory(const struct comm_insn_zydis *s, const ZydisDecodedOperand *o,
		       struct comm_uop *u)
{
	int base = COMM_UREG_ZERO, index = COMM_UREG_ZERO;

	u->disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
	u->shift = 0;
	u->segment = COMM_UREG_ZERO;
	if (o->mem.segment == ZYDIS_REGISTER_FS)
		u->segment = COMM_UREG_FS;
	else if (o->mem.segment == ZYDIS_REGISTER_GS)
		u->segment = COMM_UREG_GS;
	if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP) {
		base = COMM_UREG_RIP;
		u->disp += s->insn.length;
	} else if (o->mem.base != ZYDIS_REGISTER_NONE) {
		base = comm_insn_zydis_gpr(o->mem.base);
	}
	if (o->mem.index != ZYDIS_REGISTER_NONE) {
		index = comm_insn_zydis_gpr(o->mem.index);
		u->shift = o->mem.scale == 8 ? 3 : o->mem.scale == 4 ? 2 : o->mem.scale == 2;
	}
	if (base < 0 || index < 0 ||
	    (o->mem.type != ZYDIS_MEMOP_TYPE_MEM && o->mem.type != ZYDIS_MEMOP_TYPE_AGEN)) {
		u->bits |= COMM_UOP_UNSURE;
		base = index = COMM_UREG_ZERO;
	}
	u->base = (uint8_t)base;
	u->index = (uint8_t)index;
	if (s->insn.address_width == 32)
		u->bits |= COMM_UOP_ADDR32;
	u->access_bytes = o->size / 8;
	u->in[0] = base < COMM_NGPR ? base : COMM_READY_NONE;
	u->in[1] = index < COMM_NGPR ? index : COMM_READY_NONE;
}

/*
 * A conservative description that holds for every instruction: one access, and
 * all registers and flags that the instruction writes become unknown.
 */
static void set_other(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	const ZydisDecodedOperand *mem = NULL;
	bool conditional = false;
	int n_mem = 0;

	u->op = COMM_OP_OTHER;
	u->imm = 0;
	for (int i = 0; i < s->insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &s->op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && comm_insn_zydis_writes(o)) {
			int r = comm_insn_zydis_gpr(o->reg.value);

			if (r >= 0)
				u->clobbers |= 1 << (r & 15);
			if (comm_insn_mask_register(o->reg.value) >= 0)
				u->imm |= 1 << comm_insn_mask_register(o->reg.value);
		}
		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		n_mem++;
		mem = o;
		set_memory(s, o, u);
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			u->bits |= COMM_UOP_READ;
		if (comm_insn_zydis_writes(o))
			u->bits |= COMM_UOP_WRITE;
		/* A cmpxchg always writes: when the comparison fails, what it read. */
		if ((o->actions &
		     (ZYDIS_OPERAND_ACTION_CONDREAD | ZYDIS_OPERAND_ACTION_CONDWRITE)) &&
		    s->insn.meta.category != ZYDIS_CATEGORY_SEMAPHORE)
			conditional = true;
		if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			u->bits |= COMM_UOP_UNSURE;
	}
	if (n_mem > 1 || (n_mem && !u->access_bytes))
		u->bits |= COMM_UOP_UNSURE;
	conditional |= comm_insn_mask_chooses(s);
	if (n_mem && conditional && !comm_insn_mask_lanes(s, mem, u))
		u->bits |= COMM_UOP_UNSURE;
	if (s->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		u->bits |= COMM_UOP_ATOMIC;
}

/*
 * Explicit operands of a modelled instruction.  False when one of them is not
 * a general register, plain memory or an immediate.
 */
static bool set_operands(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	for (int i = 0; i < s->insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *o = &s->op[i];
		int r;

		switch (o->type) {
		case ZYDIS_OPERAND_TYPE_REGISTER:
			r = comm_insn_zydis_gpr(o->reg.value);
			if (r < 0)
				return false;
			if (i == 0)
				u->dst = (uint8_t)r;
			else if (i == 1)
				u->src = (uint8_t)r;
			else
				u->src2 = (uint8_t)r;
			break;
		case ZYDIS_OPERAND_TYPE_MEMORY:
			set_memory(s, o, u);
			if (u->bits & COMM_UOP_UNSURE)
				return false;
			if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
				break;
			if (!u->access_bytes || u->access_bytes > 8)
				return false;
			u->bits |= i == 0 ? COMM_UOP_DST_MEM : COMM_UOP_SRC_MEM;
			if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
				u->bits |= COMM_UOP_READ;
			if (comm_insn_zydis_writes(o))
				u->bits |= COMM_UOP_WRITE;
			break;
		case ZYDIS_OPERAND_TYPE_IMMEDIATE:
			u->imm = o->imm.value.s;
			if (i == 1)
				u->bits |= COMM_UOP_SRC_IMM;
			else if (i == 2)
				u->bits |= COMM_UOP_THREE;
			break;
		default:
			return false;
		}
	}
	return true;
}

static enum comm_op op_of(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
#define SAME(name)                  \
	case ZYDIS_MNEMONIC_##name: \
		return COMM_OP_##name
		SAME(MOV);
		SAME(MOVZX);
		SAME(MOVSX);
		SAME(LEA);
		SAME(ADD);
		SAME(ADC);
		SAME(SUB);
		SAME(SBB);
		SAME(CMP);
		SAME(AND);
		SAME(OR);
		SAME(XOR);
		SAME(TEST);
		SAME(INC);
		SAME(DEC);
		SAME(NEG);
		SAME(NOT);
		SAME(SHL);
		SAME(SHR);
		SAME(SAR);
		SAME(ROL);
		SAME(ROR);
		SAME(SHLD);
		SAME(SHRD);
		SAME(DIV);
		SAME(IDIV);
		SAME(BSWAP);
		SAME(BSF);
		SAME(BSR);
		SAME(TZCNT);
		SAME(LZCNT);
		SAME(POPCNT);
		SAME(BT);
		SAME(BTS);
		SAME(BTR);
		SAME(BTC);
		SAME(ANDN);
		SAME(BLSR);
		SAME(BLSI);
		SAME(BLSMSK);
		SAME(BEXTR);
		SAME(BZHI);
		SAME(PDEP);
		SAME(PEXT);
		SAME(RORX);
		SAME(SHLX);
		SAME(SHRX);
		SAME(SARX);
		SAME(MULX);
		SAME(XCHG);
		SAME(XADD);
		SAME(CMPXCHG);
		SAME(LAHF);
		SAME(SAHF);
		SAME(PUSH);
		SAME(POP);
		SAME(LEAVE);
		SAME(ENTER);
#undef SAME
	case ZYDIS_MNEMONIC_MOVNTI:
		return COMM_OP_MOV;
	case ZYDIS_MNEMONIC_MOVSXD:
		return COMM_OP_MOVSX;
	case ZYDIS_MNEMONIC_IMUL:
		return COMM_OP_IMUL;
	case ZYDIS_MNEMONIC_MUL:
		return COMM_OP_MUL1;
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
		return COMM_OP_SEXT_A;
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
		return COMM_OP_SEXT_D;
	case ZYDIS_MNEMONIC_CLC:
	case ZYDIS_MNEMONIC_STC:
	case ZYDIS_MNEMONIC_CMC:
		return COMM_OP_CARRY;
	case ZYDIS_MNEMONIC_CLD:
	case ZYDIS_MNEMONIC_STD:
		return COMM_OP_DIRECTION;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return COMM_OP_PUSHF;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		return COMM_OP_POPF;
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSQ:
		return COMM_OP_MOVS;
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		return COMM_OP_STOS;
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_LODSW:
	case ZYDIS_MNEMONIC_LODSD:
	case ZYDIS_MNEMONIC_LODSQ:
		return COMM_OP_LODS;
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_CMPSW:
	case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
		return COMM_OP_CMPS;
	case ZYDIS_MNEMONIC_SCASB:
	case ZYDIS_MNEMONIC_SCASW:
	case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_SCASQ:
		return COMM_OP_SCAS;
	default:
		return COMM_OP_OTHER;
	}
}

/* String instructions: rsi and rdi are implied, so no operand is described. */
static void set_string(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	u->op = (uint8_t)op_of(s->insn.mnemonic);
	u->width = (uint8_t)(s->insn.operand_width / 8);
	switch (s->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_LODSB:
	case ZYDIS_MNEMONIC_CMPSB:
	case ZYDIS_MNEMONIC_SCASB:
		u->width = 1;
		break;
	default:
		break;
	}
	if (s->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE))
		u->bits |= COMM_UOP_REP;
	if (s->insn.attributes & ZYDIS_ATTRIB_HAS_REPNE)
		u->bits |= COMM_UOP_REPNE;
	if (s->insn.address_width != 64 || u->op == COMM_OP_OTHER ||
	    (s->insn.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS)))
		u->op = COMM_OP_UNSUPPORTED;
}

static void set_branch(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	const ZydisDecodedOperand *o = &s->op[0];
	bool direct = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	u->width = 8;
	if (s->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || s->insn.operand_width == 16)
		goto unsupported;
	if (direct)
		u->imm = o->imm.value.s + s->insn.length;
	switch (s->insn.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		switch (s->insn.mnemonic) {
		case ZYDIS_MNEMONIC_LOOP:
		case ZYDIS_MNEMONIC_LOOPE:
		case ZYDIS_MNEMONIC_LOOPNE:
		case ZYDIS_MNEMONIC_JRCXZ:
			if (s->insn.address_width != 64)
				goto unsupported;
			u->op = COMM_OP_LOOP;
			u->cond = s->insn.mnemonic == ZYDIS_MNEMONIC_LOOP     ? 0
				  : s->insn.mnemonic == ZYDIS_MNEMONIC_LOOPE  ? 1
				  : s->insn.mnemonic == ZYDIS_MNEMONIC_LOOPNE ? 2
									      : 3;
			return;
		default:
			if (!direct || s->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
				goto unsupported;
			/* xbegin, jecxz */
			if (s->insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT
				    ? (s->insn.opcode & 0xf0) != 0x70
				    : (s->insn.opcode & 0xf0) != 0x80)
				goto unsupported;
			u->op = COMM_OP_JCC;
			u->cond = s->insn.opcode & 15;
			return;
		}
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (s->insn.mnemonic != ZYDIS_MNEMONIC_JMP)
			goto unsupported;
		u->op = direct ? COMM_OP_JMP : COMM_OP_JMP_TO;
		break;
	case ZYDIS_CATEGORY_CALL:
		if (s->insn.mnemonic != ZYDIS_MNEMONIC_CALL)
			goto unsupported;
		u->op = direct ? COMM_OP_CALL : COMM_OP_CALL_TO;
		break;
	case ZYDIS_CATEGORY_RET:
		if (s->insn.mnemonic != ZYDIS_MNEMONIC_RET)
			goto unsupported;
		u->op = COMM_OP_RET;
		u->imm = s->insn.operand_count_visible ? o->imm.value.s & 0xffff : 0;
		return;
	default:
		goto unsupported;
	}
	if (!direct && !set_operands(s, u))
		goto unsupported;
	return;
unsupported:
	u->op = COMM_OP_UNSUPPORTED;
}

/* Instructions that hand control elsewhere (kernel, hypervisor, enclave) or need privilege. */
static bool leaves(const struct comm_insn_zydis *s)
{
	if (s->insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return true;
	switch (s->insn.meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_KEYLOCKER:
	case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
		break;
	default:
		switch (s->insn.mnemonic) {
		case ZYDIS_MNEMONIC_UD0:
		case ZYDIS_MNEMONIC_UD1:
		case ZYDIS_MNEMONIC_UD2:
		case ZYDIS_MNEMONIC_XABORT:
		case ZYDIS_MNEMONIC_WRFSBASE:
		case ZYDIS_MNEMONIC_WRGSBASE:
			return true;
		default:
			break;
		}
		for (int i = 0; i < s->insn.operand_count; i++)
			if (s->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    comm_insn_zydis_writes(&s->op[i]) &&
			    ZydisRegisterGetClass(s->op[i].reg.value) == ZYDIS_REGCLASS_SEGMENT)
				return true;
		return false;
	}
	switch (s->insn.mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_XGETBV:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_LSL:
		return false;
	default:
		return true;
	}
}

static void set_modelled(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	struct comm_uop plain = *u;

	if (comm_insn_mask_set(s, u))
		return;
	u->width = (uint8_t)(s->op[0].size / 8);
	if (s->insn.meta.category == ZYDIS_CATEGORY_CMOV &&
	    s->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
		u->op = COMM_OP_CMOV;
		u->cond = s->insn.opcode & 15;
	} else if (s->insn.meta.category == ZYDIS_CATEGORY_SETCC) {
		u->op = COMM_OP_SETCC;
		u->cond = s->insn.opcode & 15;
	} else {
		u->op = (uint8_t)op_of(s->insn.mnemonic);
	}
	if (u->op == COMM_OP_OTHER || !set_operands(s, u)) {
		bool stack = u->op == COMM_OP_PUSH || u->op == COMM_OP_POP;

		*u = plain;
		if (stack) /* push or pop of a segment register */
			u->op = COMM_OP_UNSUPPORTED;
		else
			set_other(s, u);
		return;
	}
	if (s->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		u->bits |= COMM_UOP_ATOMIC;
	switch (u->op) {
	case COMM_OP_MOVZX:
	case COMM_OP_MOVSX:
		u->cond = (uint8_t)(s->op[1].size / 8);
		break;
	case COMM_OP_IMUL:
		if (s->insn.operand_count_visible == 1) {
			u->op = COMM_OP_IMUL1;
			u->src = u->dst;
			if (u->bits & COMM_UOP_DST_MEM)
				u->bits ^= COMM_UOP_DST_MEM | COMM_UOP_SRC_MEM;
		}
		break;
	case COMM_OP_MUL1:
	case COMM_OP_DIV:
	case COMM_OP_IDIV:
		u->src = u->dst;
		if (u->bits & COMM_UOP_DST_MEM)
			u->bits ^= COMM_UOP_DST_MEM | COMM_UOP_SRC_MEM;
		break;
	case COMM_OP_XCHG:
		if (u->bits & COMM_UOP_MEM)
			u->bits |= COMM_UOP_ATOMIC;
		break;
	case COMM_OP_CMPXCHG:
		if (u->bits & COMM_UOP_DST_MEM) {
			/* When the comparison fails it writes what it read. */
			u->bits |= COMM_UOP_MEM;
			break;
		}
		*u = plain;
		set_other(s, u);
		break;
	case COMM_OP_BT:
	case COMM_OP_BTS:
	case COMM_OP_BTR:
	case COMM_OP_BTC:
		/* A register selects a bit anywhere in memory. */
		if ((u->bits & COMM_UOP_MEM) && !(u->bits & COMM_UOP_SRC_IMM)) {
			*u = plain;
			set_other(s, u);
			u->bits |= COMM_UOP_UNSURE;
		}
		u->bits |= COMM_UOP_PARTIAL_FLAGS;
		break;
	case COMM_OP_ANDN:
	case COMM_OP_PDEP:
	case COMM_OP_PEXT: {
		/* When the last operand is memory the emulator takes it as src: swap. */
		uint8_t r = u->src;

		u->src = u->src2;
		u->src2 = r;
		break;
	}
	case COMM_OP_MULX: {
		uint8_t low = u->src;

		u->src = u->src2;
		u->src2 = low;
		break;
	}
	case COMM_OP_SHL:
	case COMM_OP_SHR:
	case COMM_OP_SAR:
	case COMM_OP_ROL:
	case COMM_OP_ROR:
	case COMM_OP_SHLD:
	case COMM_OP_SHRD:
		u->bits |= COMM_UOP_PARTIAL_FLAGS;
		break;
	case COMM_OP_SEXT_A:
	case COMM_OP_SEXT_D:
		u->width = (uint8_t)(s->insn.operand_width / 8);
		break;
	case COMM_OP_CARRY:
		u->imm = s->insn.mnemonic == ZYDIS_MNEMONIC_CLC	  ? 0
			 : s->insn.mnemonic == ZYDIS_MNEMONIC_STC ? 1
								  : 2;
		break;
	case COMM_OP_DIRECTION:
		u->imm = s->insn.mnemonic == ZYDIS_MNEMONIC_STD;
		break;
	case COMM_OP_PUSH:
	case COMM_OP_POP:
		u->width = (uint8_t)(s->insn.operand_width / 8);
		if (s->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			u->bits |= COMM_UOP_SRC_IMM;
		if (u->bits & COMM_UOP_MEM)
			u->access_bytes = u->width;
		break;
	case COMM_OP_PUSHF:
	case COMM_OP_POPF:
		u->width = (uint8_t)(s->insn.operand_width / 8);
		break;
	case COMM_OP_ENTER:
		if (s->op[1].imm.value.u || s->insn.operand_width != 64)
			u->op = COMM_OP_UNSUPPORTED;
		u->imm = s->op[0].imm.value.s & 0xffff;
		break;
	case COMM_OP_LEAVE:
		if (s->insn.operand_width != 64)
			u->op = COMM_OP_UNSUPPORTED;
		break;
	default:
		break;
	}
}

static void set_kind(const struct comm_insn_zydis *s, struct comm_uop *u)
{
	switch (s->insn.meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return;
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
		set_branch(s, u);
		return;
	case ZYDIS_CATEGORY_STRINGOP:
		set_string(s, u);
		return;
	case ZYDIS_CATEGORY_SYSCALL:
		u->op = COMM_OP_SYSCALL;
		return;
	default:
		break;
	}
	if (s->insn.mnemonic == ZYDIS_MNEMONIC_CLFLUSH)
		return;
	if (s->insn.mnemonic == ZYDIS_MNEMONIC_INT && s->op[0].imm.value.u == 0x80) {
		u->op = COMM_OP_SYSCALL;
		return;
	}
	/* f3 41 90 is an exchange with r8, though the disassembler calls it pause. */
	if (s->insn.mnemonic == ZYDIS_MNEMONIC_PAUSE && s->insn.raw.rex.B) {
		u->op = COMM_OP_UNSUPPORTED;
		return;
	}
	if (leaves(s) || s->insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) {
		u->op = COMM_OP_UNSUPPORTED;
		return;
	}
	set_modelled(s, u);
	switch (s->insn.meta.category) {
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_CLZERO:
	case ZYDIS_CATEGORY_MOVDIR:
	case ZYDIS_CATEGORY_ENQCMD:
		/* The operands do not tell the address or the extent of the access. */
		u->bits |= COMM_UOP_UNSURE | COMM_UOP_WRITE;
		break;
	default:
		break;
	}
}

int comm_insn_decode(const uint8_t *bytes, size_t len_bytes, struct comm_uop *ret,
		     uint16_t *ret_flags_in)
{
	const ZydisAccessedFlags *f;
	ZydisDecoder decoder;
	struct comm_insn_zydis s;
	ZyanStatus status;

	if (!len_bytes)
		return 0;
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -EILSEQ;
	status = ZydisDecoderDecodeFull(&decoder, bytes, len_bytes, &s.insn, s.op);
	if (status == ZYDIS_STATUS_NO_MORE_DATA)
		return 0;
	if (!ZYAN_SUCCESS(status))
		return -EILSEQ;

	memset(ret, 0, sizeof(*ret));
	memset(ret->in, COMM_READY_NONE, sizeof(ret->in));
	memset(ret->out, COMM_READY_SINK, sizeof(ret->out));
	ret->len_bytes = s.insn.length;
	ret->base = ret->index = ret->segment = COMM_UREG_ZERO;
	set_kind(&s, ret);
	comm_insn_zydis_cost(&s, ret);

	f = s.insn.cpu_flags;
	*ret_flags_in = 0;
	if (f) {
		*ret_flags_in = f->tested & COMM_FLAGS_ALL;
		ret->flags_out =
			(f->modified | f->set_0 | f->set_1 | f->undefined) & COMM_FLAGS_ALL;
	}
	/* Zydis 4.0 says it of ptest alone. */
	if (s.insn.mnemonic == ZYDIS_MNEMONIC_VPTEST || s.insn.mnemonic == ZYDIS_MNEMONIC_VTESTPS ||
	    s.insn.mnemonic == ZYDIS_MNEMONIC_VTESTPD)
		ret->flags_out = COMM_FLAGS_ALU;
	return s.insn.length;
}

bool comm_insn_ends_block(const struct comm_uop *uop)
{
	switch (uop->op) {
	case COMM_OP_JMP:
	case COMM_OP_JMP_TO:
	case COMM_OP_CALL:
	case COMM_OP_CALL_TO:
	case COMM_OP_RET:
	case COMM_OP_GOTO:
	case COMM_OP_SYSCALL:
	case COMM_OP_UNSUPPORTED:
	case COMM_OP_UNDECODED:
		return true;
	default:
		return false;
	}
}
