// SPDX-License-Identifier: GPL-2.0-or-later
#include "type_insn.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>

/* All registers but rbx, rbp, rsp, r12 to r15. */
enum { SPOILT_BY_CALLS = 0x0fc7 };

struct comm_type_decoder {
	ZydisDecoder zydis;
};

int comm_type_decoder_create(struct comm_type_decoder **ret)
{
	struct comm_type_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64))) {
		free(decoder);
		return -ENODATA;
	}
	*ret = decoder;
	return 0;
}

void comm_type_decoder_destroy(struct comm_type_decoder *decoder)
{
	free(decoder);
}

static bool is_64(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value >= ZYDIS_REGISTER_RAX &&
	       o->reg.value <= ZYDIS_REGISTER_R15;
}

static int8_t full_register(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return (int8_t)(reg - ZYDIS_REGISTER_RAX);
	return -1;
}

/* The register that a part of one belongs to. */
static int8_t any_register(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return (int8_t)(reg - ZYDIS_REGISTER_EAX);
	if (reg >= ZYDIS_REGISTER_AX && reg <= ZYDIS_REGISTER_R15W)
		return (int8_t)(reg - ZYDIS_REGISTER_AX);
	if (reg >= ZYDIS_REGISTER_AL && reg <= ZYDIS_REGISTER_BL)
		return (int8_t)(reg - ZYDIS_REGISTER_AL);
	if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
		return (int8_t)(reg - ZYDIS_REGISTER_AH);
	if (reg >= ZYDIS_REGISTER_SPL && reg <= ZYDIS_REGISTER_R15B)
		return (int8_t)(reg - ZYDIS_REGISTER_SPL + 4);
	return full_register(reg);
}

/* Where a memory operand is; thread-local memory (fs, gs) has no address here. */
static void set_memory(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *o,
		       struct comm_type_insn *ret)
{
	if (ret->has_mem && (ret->reads || !(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)))
		return;
	if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS ||
	    o->mem.type == ZYDIS_MEMOP_TYPE_MIB || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
		return;
	/* Return addresses and saved registers. */
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP)
		return;
	ret->has_mem = true;
	ret->reads = o->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		     (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ);
	ret->mem_bytes = o->size / 8;
	ret->base = full_register(o->mem.base);
	ret->index = full_register(o->mem.index);
	ret->is_scaled = o->mem.scale > 1;
	ret->disp = o->mem.disp.value;
	if (o->mem.base == ZYDIS_REGISTER_RIP)
		ret->disp = (int64_t)((uint64_t)ret->disp + ret->addr + insn->length);
	else if (o->mem.base != ZYDIS_REGISTER_NONE && ret->base < 0)
		ret->has_mem = ret->reads = false;
}

static void set_op(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op,
		   struct comm_type_insn *ret)
{
	const ZydisDecodedOperand *a = &op[0], *b = &op[1];
	uint64_t next = ret->addr + insn->length;

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (a->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			ret->value = (int64_t)(next + a->imm.value.u);
		if (insn->meta.category == ZYDIS_CATEGORY_CALL) {
			ret->op = COMM_TYPE_CALL;
			ret->written = SPOILT_BY_CALLS;
		} else if (insn->meta.category == ZYDIS_CATEGORY_COND_BR) {
			ret->op = COMM_TYPE_BRANCH;
		} else {
			ret->op = ret->value ? COMM_TYPE_JUMP : COMM_TYPE_END;
		}
		return;
	case ZYDIS_CATEGORY_RET:
		ret->op = COMM_TYPE_END;
		return;
	default:
		break;
	}
	if (insn->mnemonic == ZYDIS_MNEMONIC_UD2 || insn->mnemonic == ZYDIS_MNEMONIC_HLT ||
	    insn->mnemonic == ZYDIS_MNEMONIC_INT3) {
		ret->op = COMM_TYPE_END;
		return;
	}
	if (insn->mnemonic == ZYDIS_MNEMONIC_MOV && a->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    is_64(b)) {
		ret->op = COMM_TYPE_STORE;
		ret->src = full_register(b->reg.value);
		return;
	}
	/* "mov edi, OFFSET x" sets all of rdi. */
	if (insn->mnemonic == ZYDIS_MNEMONIC_MOV && a->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && a->size >= 32) {
		ret->op = COMM_TYPE_CONSTANT;
		ret->dst = any_register(a->reg.value);
		ret->value = b->imm.value.s;
		return;
	}
	if (insn->operand_count_visible < 1 || !is_64(a))
		return;
	ret->dst = full_register(a->reg.value);
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		ret->op = is_64(b) ? COMM_TYPE_COPY : COMM_TYPE_LOAD;
		break;
	case ZYDIS_MNEMONIC_LEA:
		ret->op = COMM_TYPE_ADDRESS;
		break;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		ret->op = COMM_TYPE_ADD;
		ret->value = insn->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			ret->op = COMM_TYPE_ADD;
			ret->value = insn->mnemonic == ZYDIS_MNEMONIC_ADD
					     ? b->imm.value.s
					     : (int64_t)(0 - b->imm.value.u);
		} else if (insn->mnemonic == ZYDIS_MNEMONIC_ADD && is_64(b)) {
			ret->op = COMM_TYPE_INDEX;
		}
		break;
	default:
		if (insn->meta.category == ZYDIS_CATEGORY_CMOV && is_64(b))
			ret->op = COMM_TYPE_CHOOSE;
		break;
	}
	if (is_64(b))
		ret->src = full_register(b->reg.value);
}

bool comm_type_insn_decode(const struct comm_type_decoder *decoder, uint64_t addr,
			   const uint8_t *bytes, size_t len_bytes, struct comm_type_insn *ret)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder->zydis, bytes, len_bytes, &insn, op)))
		return false;
	*ret = (struct comm_type_insn){
		.addr = addr,
		.len_bytes = insn.length,
		.dst = -1,
		.src = -1,
		.base = -1,
		.index = -1,
	};
	for (int i = 0; i < insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];
		int8_t reg;

		/* What pads code names memory, but reads none. */
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    insn.meta.category != ZYDIS_CATEGORY_NOP &&
		    insn.meta.category != ZYDIS_CATEGORY_WIDENOP &&
		    insn.meta.category != ZYDIS_CATEGORY_PREFETCH)
			set_memory(&insn, o, ret);
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = any_register(o->reg.value);
		if (reg >= 0)
			ret->written |= (uint16_t)(1u << reg);
	}
	set_op(&insn, op, ret);
	return true;
}
