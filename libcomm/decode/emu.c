// SPDX-License-Identifier: GPL-2.0-or-later
#include "known_bits.h"

typedef struct comm_value val;

void comm_emu_begin(struct comm_emu *emu, const struct comm_sample *sample)
{
	for (unsigned i = 0; i < COMM_NGPR; i++) {
		emu->known[i] = sample->known >> i & 1 ? ~0ULL : 0;
		emu->bits[i] = sample->reg[i] & emu->known[i];
	}
	emu->bits[COMM_UREG_ZERO] = 0;
	emu->known[COMM_UREG_ZERO] = ~0ULL;
	emu->bits[COMM_UREG_RIP] = sample->ip;
	emu->known[COMM_UREG_RIP] = ~0ULL;
	emu->known[COMM_UREG_FS] = sample->known >> COMM_FS_BASE & 1 ? ~0ULL : 0;
	emu->bits[COMM_UREG_FS] = sample->reg[COMM_FS_BASE] & emu->known[COMM_UREG_FS];
	emu->known[COMM_UREG_GS] = sample->known >> COMM_GS_BASE & 1 ? ~0ULL : 0;
	emu->bits[COMM_UREG_GS] = sample->reg[COMM_GS_BASE] & emu->known[COMM_UREG_GS];
	emu->flags_known = sample->known & (uint32_t)COMM_SAMPLE_NO_FLAGS ? 0 : COMM_FLAGS_ALL;
	emu->flags = (uint32_t)sample->flags & emu->flags_known;
	emu->masks_known = 0;
}

static enum comm_truth flag(const struct comm_emu *emu, uint32_t f)
{
	if (!(emu->flags_known & f))
		return COMM_MAYBE;
	return emu->flags & f ? COMM_TRUE : COMM_FALSE;
}

static enum comm_truth either(enum comm_truth a, enum comm_truth b)
{
	if (a == COMM_TRUE || b == COMM_TRUE)
		return COMM_TRUE;
	return a == COMM_MAYBE || b == COMM_MAYBE ? COMM_MAYBE : COMM_FALSE;
}

enum comm_truth comm_emu_condition(const struct comm_emu *emu, unsigned code)
{
	enum comm_truth t, s, o;

	switch (code >> 1) {
	case 0:
		t = flag(emu, COMM_FLAG_OF);
		break;
	case 1:
		t = flag(emu, COMM_FLAG_CF);
		break;
	case 2:
		t = flag(emu, COMM_FLAG_ZF);
		break;
	case 3:
		t = either(flag(emu, COMM_FLAG_CF), flag(emu, COMM_FLAG_ZF));
		break;
	case 4:
		t = flag(emu, COMM_FLAG_SF);
		break;
	case 5:
		t = flag(emu, COMM_FLAG_PF);
		break;
	default:
		s = flag(emu, COMM_FLAG_SF);
		o = flag(emu, COMM_FLAG_OF);
		t = s == COMM_MAYBE || o == COMM_MAYBE ? COMM_MAYBE
		    : s != o			       ? COMM_TRUE
						       : COMM_FALSE;
		if (code >> 1 == 7)
			t = either(t, flag(emu, COMM_FLAG_ZF));
		break;
	}
	if (t == COMM_MAYBE)
		return t;
	return (t == COMM_TRUE) != (code & 1) ? COMM_TRUE : COMM_FALSE;
}

void comm_emu_compare(struct comm_emu *emu, struct comm_value a, struct comm_value b,
		      unsigned width)
{
	comm_bits_sub(emu, a, b, 0, width, COMM_FLAGS_ALU, true);
}

static val load(struct comm_emu *emu, const struct comm_uop *u, uint64_t addr, bool has_addr)
{
	return has_addr ? comm_memory_load(&emu->overlay, addr, u->access_bytes)
			: comm_bits_unknown();
}

static void other(struct comm_emu *emu, const struct comm_uop *u, uint64_t addr, bool has_addr)
{
	for (unsigned m = u->clobbers; m; m &= m - 1) {
		unsigned r = (unsigned)__builtin_ctz(m);

		emu->bits[r] = 0;
		emu->known[r] = 0;
	}
	emu->masks_known &= (uint8_t)~u->imm;
	comm_bits_put_flags(emu, u->flags_out, 0, 0);
	if (!(u->bits & COMM_UOP_WRITE))
		return;
	if (has_addr)
		comm_memory_clobber(&emu->overlay, addr, u->access_bytes);
	else
		comm_memory_wild(&emu->overlay);
}

static void set_mask(struct comm_emu *emu, const struct comm_uop *u)
{
	val v = comm_bits_known((uint64_t)u->imm, 8);
	unsigned bit = 1U << (u->dst & 7);

	if (u->op == COMM_OP_KMOV)
		v = comm_emu_reg(emu, u->src, u->width);
	emu->mask[u->dst & 7] = v.bits;
	emu->masks_known &= (uint8_t)~bit;
	if ((v.known & comm_width_mask(u->width)) == comm_width_mask(u->width))
		emu->masks_known |= (uint8_t)bit;
}

/* The first operand. */
static val operand(struct comm_emu *emu, const struct comm_uop *u, uint64_t addr, bool has_addr)
{
	return u->bits & COMM_UOP_DST_MEM ? load(emu, u, addr, has_addr)
					  : comm_emu_reg(emu, u->dst, u->width);
}

static void put_memory(struct comm_emu *emu, uint64_t addr, bool has_addr, unsigned width, val v)
{
	if (!has_addr) {
		comm_memory_wild(&emu->overlay);
		return;
	}
	v.bits &= v.known;
	comm_memory_store(&emu->overlay, addr, width, v);
}

/*
 * cmpxchg: what becomes of its first operand, a.  rax is what a was either way, but for its upper half,
 * which only a failed comparison of 32 bits clears.
 */
static val exchange(struct comm_emu *emu, val a, val b, unsigned width)
{
	enum comm_truth same;
	val r = comm_bits_unknown();
	uint64_t upper;

	comm_emu_compare(emu, comm_emu_reg(emu, COMM_RAX, width), a, width);
	same = comm_emu_condition(emu, 4);
	if (same == COMM_TRUE)
		return b;
	if (same == COMM_FALSE) {
		comm_emu_set_reg(emu, COMM_RAX, width, a);
		return a;
	}
	upper = emu->known[COMM_RAX] & ~emu->bits[COMM_RAX] & ~(uint64_t)UINT32_MAX;
	comm_emu_set_reg(emu, COMM_RAX, width, a);
	if (width == 4)
		emu->known[COMM_RAX] = upper | (a.known & UINT32_MAX);
	r.known = a.known & b.known & ~(a.bits ^ b.bits);
	r.bits = a.bits & r.known;
	return r;
}

bool comm_emu_exec(struct comm_emu *emu, const struct comm_uop *u, uint64_t addr, bool has_addr)
{
	bool want = u->flags_live & u->flags_out;
	unsigned w = u->width, c;
	val a = comm_bits_unknown(), r = comm_bits_unknown(), b;

	if (u->op == COMM_OP_OTHER) {
		other(emu, u, addr, has_addr);
		return true;
	}
	if (u->op == COMM_OP_KMOV || u->op == COMM_OP_KSET) {
		set_mask(emu, u);
		return true;
	}
	if (u->bits & COMM_UOP_SRC_IMM)
		b = comm_bits_known((uint64_t)u->imm, w);
	else if (u->bits & COMM_UOP_SRC_MEM)
		b = load(emu, u, addr, has_addr);
	else
		b = comm_emu_reg(emu, u->src, w);

	switch (u->op) {
	case COMM_OP_MOV:
		r = b;
		goto write;
	case COMM_OP_LEA:
		c = u->bits & COMM_UOP_ADDR32 ? 4 : 8;
		a.known = comm_bits_low_known(
			emu->known[u->base] &
			(emu->known[u->index] << u->shift | ((1ULL << u->shift) - 1)));
		r.known = a.known & comm_width_mask(c);
		r.bits = (emu->bits[u->base] + (emu->bits[u->index] << u->shift) +
			  (uint64_t)u->disp) &
			 r.known;
		r.known |= ~comm_width_mask(c);
		goto write;
	case COMM_OP_MOVZX:
	case COMM_OP_MOVSX:
		if (!(u->bits & COMM_UOP_SRC_MEM))
			b = comm_emu_reg(emu, u->src, u->cond);
		if (u->op == COMM_OP_MOVZX) {
			r.bits = b.bits;
			r.known = b.known | ~comm_width_mask(u->cond);
		} else {
			r.known = comm_bits_sign_extend(b.known, u->cond);
			r.bits = comm_bits_sign_extend(b.bits, u->cond) & r.known;
		}
		goto write;
	case COMM_OP_CMOV: {
		enum comm_truth t = comm_emu_condition(emu, u->cond);

		a = comm_emu_reg(emu, u->dst, w);
		r = t == COMM_TRUE ? b : a;
		if (t == COMM_MAYBE) {
			r.known = a.known & b.known & ~(a.bits ^ b.bits);
			r.bits &= r.known;
		}
		goto write;
	}
	case COMM_OP_SETCC: {
		enum comm_truth t = comm_emu_condition(emu, u->cond);

		r.known = t == COMM_MAYBE ? 0xfe : 0xff;
		r.bits = t == COMM_TRUE;
		goto write;
	}
	case COMM_OP_CARRY:
		if (u->imm < 2)
			comm_bits_put_flags(emu, COMM_FLAG_CF, COMM_FLAG_CF, (uint32_t)u->imm);
		else
			emu->flags ^= emu->flags_known & COMM_FLAG_CF;
		return true;
	case COMM_OP_DIRECTION:
		comm_bits_put_flags(emu, COMM_FLAG_DF, COMM_FLAG_DF, u->imm ? COMM_FLAG_DF : 0);
		return true;
	case COMM_OP_LAHF:
		c = COMM_FLAG_CF | COMM_FLAG_PF | COMM_FLAG_AF | COMM_FLAG_ZF | COMM_FLAG_SF;
		r.known = (emu->flags_known & c) | (0xff & ~c);
		r.bits = (emu->flags & c) | 2;
		comm_emu_set_reg(emu, COMM_RAX | COMM_UREG_HIGH, 1, r);
		return true;
	case COMM_OP_SAHF:
		a = comm_emu_reg(emu, COMM_RAX | COMM_UREG_HIGH, 1);
		c = COMM_FLAG_CF | COMM_FLAG_PF | COMM_FLAG_AF | COMM_FLAG_ZF | COMM_FLAG_SF;
		comm_bits_put_flags(emu, c, (uint32_t)a.known & c, (uint32_t)a.bits);
		return true;
	case COMM_OP_SEXT_A:
		a = comm_emu_reg(emu, COMM_RAX, w / 2);
		r.known = comm_bits_sign_extend(a.known, w / 2);
		r.bits = comm_bits_sign_extend(a.bits, w / 2) & r.known;
		comm_emu_set_reg(emu, COMM_RAX, w, r);
		return true;
	case COMM_OP_SEXT_D:
		a = comm_bits_shift(COMM_OP_SAR, comm_emu_reg(emu, COMM_RAX, w), w * 8 - 1, w);
		comm_emu_set_reg(emu, COMM_RDX, w, a);
		return true;
	case COMM_OP_MUL1:
	case COMM_OP_IMUL1:
		comm_bits_multiply(emu, u, b);
		return true;
	case COMM_OP_DIV:
	case COMM_OP_IDIV:
		return comm_bits_divide(emu, u, b);
	case COMM_OP_MULX: {
		val x = comm_emu_reg(emu, COMM_RDX, w), hi = comm_bits_unknown();

		if (comm_bits_is_known(x, w) && comm_bits_is_known(b, w)) {
			unsigned __int128 p = (unsigned __int128)x.bits * b.bits;

			r = comm_bits_known((uint64_t)p, w);
			hi = comm_bits_known((uint64_t)(p >> w * 8), w);
		}
		comm_emu_set_reg(emu, u->src2, w, r);
		comm_emu_set_reg(emu, u->dst, w, hi);
		return true;
	}
	case COMM_OP_IMUL:
		a = u->bits & COMM_UOP_THREE ? comm_bits_known((uint64_t)u->imm, w)
					     : comm_emu_reg(emu, u->dst, w);
		b.known &= comm_width_mask(w);
		if (comm_bits_is_known(a, w) && comm_bits_is_known(b, w)) {
			__int128 p = (__int128)(int64_t)comm_bits_sign_extend(a.bits, w) *
				     (int64_t)comm_bits_sign_extend(b.bits, w);
			uint32_t both = COMM_FLAG_CF | COMM_FLAG_OF;

			r = comm_bits_known((uint64_t)p, w);
			comm_bits_put_flags(emu, COMM_FLAGS_ALU, both,
					    p != (__int128)(int64_t)comm_bits_sign_extend(r.bits, w)
						    ? both
						    : 0);
		} else {
			r.known = comm_bits_low_known(a.known & b.known);
			r.bits = a.bits * b.bits & r.known;
			comm_bits_put_flags(emu, COMM_FLAGS_ALU, 0, 0);
		}
		goto write;
	case COMM_OP_BSF:
	case COMM_OP_BSR:
	case COMM_OP_TZCNT:
	case COMM_OP_LZCNT:
	case COMM_OP_POPCNT:
	case COMM_OP_BEXTR:
	case COMM_OP_BZHI:
	case COMM_OP_PDEP:
	case COMM_OP_PEXT:
	case COMM_OP_BLSR:
	case COMM_OP_BLSI:
	case COMM_OP_BLSMSK:
		r = comm_bits_bits(emu, u, b);
		if (!r.known && (u->op == COMM_OP_BSF || u->op == COMM_OP_BSR)) {
			/* bsf, bsr of zero: which bits of dst stay differs between vendors. */
			comm_emu_set_reg(emu, u->dst, 8, r);
			return true;
		}
		goto write;
	case COMM_OP_ANDN:
		a = comm_emu_reg(emu, u->src2, w);
		a.bits = ~a.bits & a.known;
		r = comm_bits_and(a, b);
		comm_bits_logic_flags(emu, r, w);
		/* Undefined, and another one on Intel's processors than on AMD's. */
		comm_bits_put_flags(emu, COMM_FLAG_PF, 0, 0);
		goto write;
	case COMM_OP_RORX:
		r = comm_bits_shift(COMM_OP_ROR, b, (unsigned)u->imm & (w == 8 ? 63 : 31), w);
		goto write;
	case COMM_OP_SHLX:
	case COMM_OP_SHRX:
	case COMM_OP_SARX:
		a = comm_emu_reg(emu, u->src2, 1);
		c = (unsigned)a.bits & (w == 8 ? 63 : 31);
		if ((a.known & (w == 8 ? 63 : 31)) == (w == 8 ? 63U : 31U))
			r = comm_bits_shift(u->op, b, c, w);
		goto write;
	case COMM_OP_XCHG:
		/* Memory is always the first operand. */
		a = operand(emu, u, addr, has_addr);
		comm_emu_set_reg(emu, u->src, w, a);
		r = b;
		goto write;
	case COMM_OP_XADD:
		a = operand(emu, u, addr, has_addr);
		r = comm_bits_add(emu, a, b, 0, w, COMM_FLAGS_ALU, want);
		comm_emu_set_reg(emu, u->src, w, a);
		goto write;
	case COMM_OP_CMPXCHG:
		a = operand(emu, u, addr, has_addr);
		r = exchange(emu, a, b, w);
		goto write;
	default:
		break;
	}

	a = operand(emu, u, addr, has_addr);

	switch (u->op) {
	case COMM_OP_ADD:
		r = comm_bits_add(emu, a, b, 0, w, COMM_FLAGS_ALU, want);
		break;
	case COMM_OP_SUB:
		if (!(u->bits & (COMM_UOP_MEM | COMM_UOP_SRC_IMM)) && u->dst == u->src)
			a = b = comm_bits_known(0, w);
		r = comm_bits_sub(emu, a, b, 0, w, COMM_FLAGS_ALU, want);
		break;
	case COMM_OP_CMP:
		if (!(u->bits & (COMM_UOP_MEM | COMM_UOP_SRC_IMM)) && u->dst == u->src)
			a = b = comm_bits_known(0, w);
		comm_bits_sub(emu, a, b, 0, w, COMM_FLAGS_ALU, want);
		return true;
	case COMM_OP_ADC:
	case COMM_OP_SBB:
		if (flag(emu, COMM_FLAG_CF) == COMM_MAYBE) {
			comm_bits_put_flags(emu, COMM_FLAGS_ALU, 0, 0);
			break;
		}
		c = emu->flags & COMM_FLAG_CF;
		if (u->op == COMM_OP_ADC) {
			r = comm_bits_add(emu, a, b, c, w, COMM_FLAGS_ALU, true);
			break;
		}
		if (!(u->bits & (COMM_UOP_MEM | COMM_UOP_SRC_IMM)) && u->dst == u->src)
			a = b = comm_bits_known(0, w);
		r = comm_bits_sub(emu, a, b, c, w, COMM_FLAGS_ALU, true);
		break;
	case COMM_OP_AND:
		r = comm_bits_and(a, b);
		if (want)
			comm_bits_logic_flags(emu, r, w);
		break;
	case COMM_OP_TEST:
		if (want)
			comm_bits_logic_flags(emu,
					      (val){a.bits & b.bits & comm_width_mask(w),
						    comm_bits_and(a, b).known & comm_width_mask(w)},
					      w);
		return true;
	case COMM_OP_OR:
		r = comm_bits_or(a, b);
		if (want)
			comm_bits_logic_flags(emu, (val){r.bits & comm_width_mask(w), r.known}, w);
		break;
	case COMM_OP_XOR:
		r = comm_bits_xor(a, b);
		if (!(u->bits & (COMM_UOP_MEM | COMM_UOP_SRC_IMM)) && u->dst == u->src)
			r = comm_bits_known(0, w);
		if (want)
			comm_bits_logic_flags(emu, (val){r.bits & comm_width_mask(w), r.known}, w);
		break;
	case COMM_OP_INC:
		r = comm_bits_add(emu, a, comm_bits_known(1, w), 0, w,
				  COMM_FLAGS_ALU & ~COMM_FLAG_CF, want);
		break;
	case COMM_OP_DEC:
		r = comm_bits_sub(emu, a, comm_bits_known(1, w), 0, w,
				  COMM_FLAGS_ALU & ~COMM_FLAG_CF, want);
		break;
	case COMM_OP_NEG:
		r = comm_bits_sub(emu, comm_bits_known(0, w), a, 0, w, COMM_FLAGS_ALU, want);
		break;
	case COMM_OP_NOT:
		r.known = a.known;
		r.bits = ~a.bits & a.known;
		break;
	case COMM_OP_BSWAP:
		r.bits = w == 8 ? __builtin_bswap64(a.bits) : __builtin_bswap32((uint32_t)a.bits);
		r.known =
			w == 8 ? __builtin_bswap64(a.known) : __builtin_bswap32((uint32_t)a.known);
		if (w == 2)
			r = comm_bits_unknown();
		break;
	case COMM_OP_SHL:
	case COMM_OP_SHR:
	case COMM_OP_SAR:
	case COMM_OP_ROL:
	case COMM_OP_ROR: {
		unsigned count_mask = w == 8 ? 63 : 31;

		if ((b.known & count_mask) != count_mask) {
			comm_bits_put_flags(emu, u->flags_out & COMM_FLAGS_ALU, 0, 0);
			break;
		}
		c = (unsigned)b.bits & count_mask;
		r = comm_bits_shift(u->op, a, c, w);
		if (want)
			comm_bits_shift_flags(emu, u->op, a, r, c, w);
		break;
	}
	case COMM_OP_SHLD:
	case COMM_OP_SHRD: {
		unsigned count_mask = w == 8 ? 63 : 31;
		val count = u->bits & COMM_UOP_THREE ? comm_bits_known((uint64_t)u->imm, 8)
						     : comm_emu_reg(emu, COMM_RCX, 1);

		if ((count.known & count_mask) != count_mask) {
			comm_bits_put_flags(emu, COMM_FLAGS_ALU, 0, 0);
			break;
		}
		c = (unsigned)count.bits & count_mask;
		r = comm_bits_double_shift(u->op, a, comm_emu_reg(emu, u->src, w), c, w);
		if (c) {
			uint32_t which = 0, set = 0;

			comm_bits_result_flags(r, w, &which, &set);
			comm_bits_put_flags(emu, COMM_FLAGS_ALU, which, set);
		}
		break;
	}
	case COMM_OP_BT:
	case COMM_OP_BTS:
	case COMM_OP_BTR:
	case COMM_OP_BTC: {
		uint64_t bit;

		c = w * 8 - 1;
		/* ZF stays; whether other flags do differs between CPU vendors. */
		if ((b.known & c) != c) {
			comm_bits_put_flags(emu, COMM_FLAGS_ALU & ~COMM_FLAG_ZF, 0, 0);
			if (u->op == COMM_OP_BT)
				return true;
			break;
		}
		bit = 1ULL << (b.bits & c);
		comm_bits_put_flags(emu, COMM_FLAGS_ALU & ~COMM_FLAG_ZF,
				    a.known & bit ? COMM_FLAG_CF : 0,
				    a.bits & bit ? COMM_FLAG_CF : 0);
		if (u->op == COMM_OP_BT)
			return true;
		r = a;
		if (u->op == COMM_OP_BTC) {
			r.bits ^= bit & r.known;
		} else {
			r.known |= bit;
			r.bits = u->op == COMM_OP_BTS ? r.bits | bit : r.bits & ~bit;
		}
		break;
	}
	default:
		/* An operation of the decoder that this switch lacks: nothing is known. */
		comm_bits_put_flags(emu, COMM_FLAGS_ALU, 0, 0);
		break;
	}
write:
	if (u->bits & COMM_UOP_DST_MEM)
		put_memory(emu, addr, has_addr, w, r);
	else
		comm_emu_set_reg(emu, u->dst, w, r);
	return true;
}
