// SPDX-License-Identifier: GPL-2.0-only
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#endif

#include "commprof.h"
#include "decode.h"
#include "decode_table.h"

enum {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
};

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

struct state {
	const u8 *text;
	u32 avail;
	u32 at;
	const struct cp_cpu *cpu;
	struct cp_insn *insn;
	u32 entry;
	u8 rex; /* or the same bits of a VEX prefix */
	u8 opcode;
	u8 map;	 /* 0, 1: 0f, 2: 0f38, 3: 0f3a */
	u8 simd; /* 0, 0x66, 0xf3, 0xf2: the mandatory prefix */
	u8 modrm;
	u8 vvvv;
	bool has_rex, vex, wide; /* wide: 32 byte vectors */
	bool op16, addr32, lock, rep;
	u8 segment; /* 0, 0x64, 0x65 */
	bool rip;   /* the operand counts from the next instruction */
	bool known; /* the operand's address is */
	bool small; /* operand size does not depend on 66 */
	u64 addr;
};

static int cp_decode_next(struct state *s, u8 *ret)
{
	if (s->at >= CP_INSN_BYTES)
		return -EINVAL;
	if (s->at >= s->avail)
		return -ENODATA;
	*ret = s->text[s->at++];
	return 0;
}

static int cp_decode_take(struct state *s, u32 bytes, s64 *ret)
{
	u64 value = 0;
	u32 i;
	u8 byte;
	int err;

	for (i = 0; i < bytes; i++) {
		err = cp_decode_next(s, &byte);
		if (err)
			return err;
		value |= (u64)byte << 8 * i;
	}
	if (bytes && bytes < 8 && value >> (8 * bytes - 1))
		value |= ~0ULL << 8 * bytes;
	*ret = value;
	return 0;
}

static bool cp_decode_is_known(const struct state *s, u32 reg)
{
	return s->cpu->known >> reg & 1;
}

static int cp_decode_vex_prefix(struct state *s, u8 first)
{
	u8 byte, map = 1;
	static const u8 simd[4] = {0, 0x66, 0xf3, 0xf2};
	int err;

	if (s->has_rex || s->op16 || s->rep || s->lock || s->simd)
		return -EINVAL;
	err = cp_decode_next(s, &byte);
	if (err)
		return err;
	s->rex = byte & 0x80 ? 0 : REX_R;
	if (first == 0xc4) {
		s->rex |= (byte & 0x40 ? 0 : REX_X) | (byte & 0x20 ? 0 : REX_B);
		map = byte & 0x1f;
		err = cp_decode_next(s, &byte);
		if (err)
			return err;
		s->rex |= byte & 0x80 ? REX_W : 0;
	}
	if (map < 1 || map > 3)
		return -EINVAL;
	s->vex = true;
	s->map = map;
	s->vvvv = ~byte >> 3 & 15;
	s->wide = byte & 4;
	s->simd = simd[byte & 3];
	return cp_decode_next(s, &s->opcode);
}

static int cp_decode_opcode(struct state *s)
{
	u8 byte;
	int err;

	for (;;) {
		err = cp_decode_next(s, &byte);
		if (err)
			return err;
		switch (byte) {
		case 0x66:
			s->op16 = true;
			if (!s->simd)
				s->simd = 0x66;
			break;
		case 0x67:
			s->addr32 = true;
			break;
		case 0x64:
		case 0x65:
			s->segment = byte;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			/* No base in 64-bit mode; it would also undo fs and gs. */
			break;
		case 0xf0:
			s->lock = true;
			break;
		case 0xf2:
		case 0xf3:
			s->rep = true;
			s->simd = byte;
			break;
		case 0x40 ... 0x4f:
			s->has_rex = true;
			s->rex = byte & 15;
			err = cp_decode_next(s, &byte);
			if (err)
				return err;
			/* One that is not just before the opcode has no effect: rare, so no. */
			switch (byte) {
			case 0x26:
			case 0x2e:
			case 0x36:
			case 0x3e:
			case 0x40 ... 0x4f:
			case 0x64 ... 0x67:
			case 0xf0:
			case 0xf2:
			case 0xf3:
				return -EINVAL;
			}
			goto found;
		default:
			goto found;
		}
	}
found:
	if (byte == 0xc4 || byte == 0xc5)
		return cp_decode_vex_prefix(s, byte);
	s->opcode = byte;
	if (byte != 0x0f)
		return 0;
	s->map = 1;
	err = cp_decode_next(s, &s->opcode);
	if (err)
		return err;
	if (s->opcode == 0x38 || s->opcode == 0x3a) {
		s->map = s->opcode == 0x38 ? 2 : 3;
		err = cp_decode_next(s, &s->opcode);
	}
	return err;
}

static bool cp_decode_is_register_form(const struct state *s)
{
	return s->modrm >> 6 == 3;
}

static u32 cp_decode_field_reg(const struct state *s)
{
	return (s->modrm >> 3 & 7) | (s->rex & REX_R ? 8 : 0);
}

static u32 cp_decode_field_rm(const struct state *s)
{
	return (s->modrm & 7) | (s->rex & REX_B ? 8 : 0);
}

static void cp_decode_clobber(struct state *s, u32 reg, bool byte)
{
	if (byte && !s->has_rex && reg >= 4 && reg < 8)
		reg -= 4; /* ah ch dh bh */
	s->insn->clobbers |= 1U << reg;
}

static void cp_decode_add_base(struct state *s, u32 reg, u32 shift)
{
	s->addr += s->cpu->reg[reg] << shift;
	s->known &= cp_decode_is_known(s, reg);
	s->insn->bases |= 1U << reg;
}

/* The segment's base; known at last. */
static u64 cp_decode_finish(struct state *s, u64 addr, bool *known)
{
	if (s->addr32)
		addr = (u32)addr;
	if (s->segment == 0x64) {
		addr += s->cpu->fs_base;
		*known &= cp_decode_is_known(s, CP_KNOWN_FS);
	} else if (s->segment == 0x65) {
		addr += s->cpu->gs_base;
		*known &= cp_decode_is_known(s, CP_KNOWN_GS);
	}
	return addr;
}

static int cp_decode_modrm(struct state *s)
{
	u32 mod, rm, disp_bytes;
	s64 disp;
	u8 sib;
	int err = cp_decode_next(s, &s->modrm);

	if (err)
		return err;
	mod = s->modrm >> 6;
	rm = s->modrm & 7;
	if (mod == 3)
		return 0;
	s->known = true;
	disp_bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (rm == 4) {
		u32 index, base;

		err = cp_decode_next(s, &sib);
		if (err)
			return err;
		index = (sib >> 3 & 7) | (s->rex & REX_X ? 8 : 0);
		base = sib & 7;
		if (index != 4)
			cp_decode_add_base(s, index, sib >> 6);
		if (base == 5 && !mod)
			disp_bytes = 4;
		else
			cp_decode_add_base(s, base | (s->rex & REX_B ? 8 : 0), 0);
	} else if (rm == 5 && !mod) {
		s->rip = true;
		disp_bytes = 4;
	} else {
		cp_decode_add_base(s, cp_decode_field_rm(s), 0);
	}
	err = cp_decode_take(s, disp_bytes, &disp);
	if (err)
		return err;
	if (disp_bytes)
		s->addr += disp;
	return 0;
}

static struct cp_operand *cp_decode_add(struct state *s, u64 addr, u64 size, u16 flags, bool known)
{
	struct cp_operand *operand = &s->insn->operand[s->insn->n++];

	operand->addr = addr;
	operand->size_bytes = size;
	operand->flags = flags;
	operand->known = known;
	return operand;
}

static u32 cp_decode_op_bytes(const struct state *s)
{
	return s->rex & REX_W ? 8 : s->op16 ? 2 : 4;
}

static u32 cp_decode_operand_bytes(const struct state *s)
{
	u32 vector = s->wide ? 32 : 16;

	switch (s->entry >> SIZE) {
	case S_OP:
		return s->entry & B ? 1 : cp_decode_op_bytes(s);
	case S_1:
		return 1;
	case S_2:
		return 2;
	case S_4:
		return 4;
	case S_8:
		return 8;
	case S_16:
		return 16;
	case S_DQ:
	case S_CS:
		return s->rex & REX_W ? 8 : 4;
	case S_VEC:
		return vector;
	case S_HALF:
		return vector / 2;
	case S_QUARTER:
		return vector / 4;
	case S_EIGHTH:
		return vector / 8;
	case S_PS:
		return s->simd == 0xf3 ? 4 : s->simd == 0xf2 ? 8 : vector;
	case S_SS:
		return s->simd == 0xf2 || s->simd == 0x66 ? 8 : 4;
	case S_MMX:
		return s->simd || s->vex ? vector : 8;
	case S_MMX4:
		return s->simd || s->vex ? vector : 4;
	case S_MMX16:
		return s->simd || s->vex ? 16 : 8;
	case S_CVT:
		return s->simd == 0xf3	 ? 4
		       : s->simd == 0xf2 ? 8
		       : s->simd == 0x66 ? vector
					 : vector / 2;
	case S_E6:
		return s->simd == 0xf3 ? vector / 2 : vector;
	case S_12:
		return s->simd == 0xf3 || (s->simd == 0xf2 && s->wide) ? vector : 8;
	case S_16OP:
		return s->simd == 0xf3 ? vector : 8;
	}
	return 0;
}

static int cp_decode_string_op(struct state *s)
{
	const struct cp_cpu *cpu = s->cpu;
	u32 width = s->opcode & 1 ? cp_decode_op_bytes(s) : 1;
	bool from = s->opcode < 0xaa || (s->opcode & 0xfe) == 0xac;
	bool to = (s->opcode & 0xfe) != 0xac;
	bool compares = (s->opcode & 0xfe) == 0xa6 || (s->opcode & 0xfe) == 0xae;
	u64 count = s->addr32 ? (u32)cpu->reg[RCX] : cpu->reg[RCX];
	u64 bytes = width, mask = s->addr32 ? ~0U : ~0ULL;
	u64 back = 0;
	bool known = true;
	u16 flags = 0;

	if (s->rep) {
		s->insn->clobbers |= 1 << RCX;
		known = cp_decode_is_known(s, RCX);
		if (known && !count)
			return 0;
		flags = CP_ACCESS_REP;
		/* How far a comparison goes is not known; its first element is. */
		if (!compares) {
			if (count > 1ULL << 40)
				return -EINVAL;
			bytes = count * width;
			back = cpu->down ? bytes - width : 0;
		}
	}
	if (from) {
		bool here = known && cp_decode_is_known(s, RSI);
		u64 addr = cp_decode_finish(s, cpu->reg[RSI] & mask, &here);

		cp_decode_add(s, addr - back, bytes, flags | CP_ACCESS_READ, here);
		s->insn->clobbers |= 1 << RSI;
	}
	if (to) {
		cp_decode_add(s, (cpu->reg[RDI] & mask) - back, bytes,
			      flags | (compares ? CP_ACCESS_READ : CP_ACCESS_WRITE),
			      known && cp_decode_is_known(s, RDI));
		s->insn->clobbers |= 1 << RDI;
	}
	if ((s->opcode & 0xfe) == 0xac)
		s->insn->clobbers |= 1 << RAX;
	return 0;
}

static void cp_decode_push(struct state *s)
{
	cp_decode_add(s, s->cpu->reg[RSP] - 8, 8, CP_ACCESS_WRITE | CP_ACCESS_IMPLICIT,
		      cp_decode_is_known(s, RSP));
	s->insn->clobbers |= 1 << RSP;
}

static void cp_decode_pop(struct state *s)
{
	cp_decode_add(s, s->cpu->reg[RSP], 8, CP_ACCESS_READ | CP_ACCESS_IMPLICIT,
		      cp_decode_is_known(s, RSP));
	s->insn->clobbers |= 1 << RSP;
}

/* x87: what the memory form moves; 0: none that we know. */
static u32 cp_decode_x87(const struct state *s, u16 *flags)
{
	static const struct {
		u8 bytes[8];
		u8 writes; /* bit per /r */
	} forms[8] = {
		{{4, 4, 4, 4, 4, 4, 4, 4}, 0}, {{4, 0, 4, 4, 0, 2, 0, 2}, 0x8c},
		{{4, 4, 4, 4, 4, 4, 4, 4}, 0}, {{4, 4, 4, 4, 0, 10, 0, 10}, 0x8e},
		{{8, 8, 8, 8, 8, 8, 8, 8}, 0}, {{8, 8, 8, 8, 0, 0, 0, 2}, 0x8e},
		{{2, 2, 2, 2, 2, 2, 2, 2}, 0}, {{2, 2, 2, 2, 10, 8, 10, 8}, 0xce},
	};
	u32 group = s->opcode & 7, ext = s->modrm >> 3 & 7;

	*flags = forms[group].writes >> ext & 1 ? CP_ACCESS_WRITE : CP_ACCESS_READ;
	return forms[group].bytes[ext];
}

/* One-byte opcodes whose ModRM.reg chooses the operation: amends the entry. */
static int cp_decode_group_one_byte(struct state *s)
{
	u32 ext = s->modrm >> 3 & 7;

	switch (s->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		if (ext == 7)
			s->entry &= ~W;
		break;
	case 0xc6:
	case 0xc7:
		if (ext)
			return -EINVAL;
		break;
	case 0xf6:
		if (ext < 2)
			s->entry |= I1;
		else
			s->entry |= ext < 4 ? W : CA;
		break;
	case 0xf7:
		if (ext < 2)
			s->entry |= IZ;
		else
			s->entry |= ext < 4 ? W : CA | CD;
		break;
	case 0xfe:
		if (ext > 1)
			return -EINVAL;
		break;
	case 0xff:
		if (ext == 3 || ext == 5 || ext == 7 || (ext > 1 && s->op16))
			return -EINVAL;
		if (ext > 1)
			s->entry = (s->entry & ~W) | S(S_8) | (ext == 6 ? 0 : END);
		break;
	}
	return 0;
}

static int cp_decode_group_two_byte(struct state *s)
{
	u32 ext = s->modrm >> 3 & 7;
	bool is_register = cp_decode_is_register_form(s);

	switch (s->opcode) {
	case 0x1e:
		/* endbr, and rdssp, which changes a register. */
		if (is_register && s->simd == 0xf3 && s->modrm >> 4 != 0xf)
			return -EINVAL;
		break;
	case 0x12:
	case 0x16:
		if (is_register)
			s->entry &= ~(R | W);
		break;
	case 0x2a:
		if (!s->simd || s->simd == 0x66) {
			if (s->vex)
				return -EINVAL;
			s->entry = OK | M | R | S(S_8);
		}
		break;
	case 0x2c:
	case 0x2d:
		if (s->simd != 0xf3 && s->simd != 0xf2)
			return -EINVAL;
		break;
	case 0x2e:
	case 0x2f:
		if (s->simd == 0xf3 || s->simd == 0xf2)
			return -EINVAL;
		break;
	case 0x7e:
		if (s->simd == 0xf3)
			s->entry = SSE | R | S(S_8);
		break;
	case 0x0d:
	case 0x18 ... 0x19:
		if (is_register && s->opcode == 0x0d)
			return -EINVAL;
		break;
	case 0xae:
		if (is_register) {
			if (s->simd || ext < 5)
				return -EINVAL;
			s->entry = OK | M;
			break;
		}
		if (s->simd || (ext != 2 && ext != 3))
			return -EINVAL;
		s->entry |= ext == 2 ? R : W;
		break;
	case 0xb8:
		if (s->simd != 0xf3)
			return -EINVAL;
		break;
	case 0xba:
		if (ext < 4)
			return -EINVAL;
		if (ext == 4)
			s->entry &= ~W;
		break;
	case 0xc7:
		if (is_register) {
			if (ext < 6)
				return -EINVAL;
			s->entry |= W; /* rdrand, rdseed, rdpid */
			break;
		}
		if (ext != 1)
			return -EINVAL;
		s->entry |= R | W | CA | CD | S(s->rex & REX_W ? S_16 : S_8);
		break;
	case 0xd6:
		if (s->simd != 0x66)
			s->entry |= NOMEM;
		break;
	}
	return 0;
}

static int cp_decode_group_map_38(struct state *s)
{
	if (s->vex)
		return 0;
	if (s->opcode == 0xf0 || s->opcode == 0xf1) {
		if (s->simd == 0xf2)
			s->entry = s->opcode == 0xf0 ? OK | M | R | B | CR : OK | M | R | CR;
		else if (s->simd == 0xf3 || cp_decode_is_register_form(s))
			return -EINVAL;
	}
	if (s->opcode == 0xf6) {
		if (s->simd != 0x66 && s->simd != 0xf3)
			return -EINVAL; /* wrss: shadow stacks */
		s->entry &= ~CV;
	}
	return 0;
}

/* What the tables cannot say. */
static int cp_decode_one_byte_rest(struct state *s)
{
	u32 low = (s->opcode & 7) | (s->rex & REX_B ? 8 : 0);
	bool known;
	s64 offset;
	int err;

	switch (s->opcode) {
	case 0x68:
	case 0x6a:
		if (s->op16)
			return -EINVAL;
		cp_decode_push(s);
		return 0;
	case 0x90 ... 0x97:
		if (low) {
			s->insn->clobbers |= 1 << RAX;
			cp_decode_clobber(s, low, false);
		}
		return 0;
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
		return cp_decode_string_op(s);
	case 0xb0 ... 0xb7:
		cp_decode_clobber(s, low, true);
		return 0;
	case 0xc3:
		cp_decode_pop(s);
		return 0;
	case 0xc9:
		if (s->op16)
			return -EINVAL;
		cp_decode_add(s, s->cpu->reg[RBP], 8, CP_ACCESS_READ | CP_ACCESS_IMPLICIT,
			      cp_decode_is_known(s, RBP));
		s->insn->clobbers |= 1 << RBP | 1 << RSP;
		return 0;
	case 0xe8:
		if (s->op16)
			return -EINVAL;
		cp_decode_push(s);
		return 0;
	case 0xe9:
	case 0x70 ... 0x7f:
		return s->op16 ? -EINVAL : 0;
	case 0xa0 ... 0xa3:
		err = cp_decode_take(s, s->addr32 ? 4 : 8, &offset);
		if (err)
			return err;
		known = true;
		if (s->addr32)
			offset = (u32)offset;
		cp_decode_add(s, cp_decode_finish(s, offset, &known),
			      s->opcode & 1 ? cp_decode_op_bytes(s) : 1,
			      s->opcode & 2 ? CP_ACCESS_WRITE : CP_ACCESS_READ, known);
		if (!(s->opcode & 2))
			s->insn->clobbers |= 1 << RAX;
		return 0;
	}
	return 0;
}

/* push, pop and moves of a full immediate: they have the register in the opcode. */
static int cp_decode_register_in_opcode(struct state *s, bool *done)
{
	u32 low = (s->opcode & 7) | (s->rex & REX_B ? 8 : 0);
	s64 value;

	*done = !s->map && (s->opcode >> 4 == 5 || s->opcode >> 3 == 0xb8 >> 3);
	if (!*done)
		return 0;
	switch (s->opcode >> 3) {
	case 0x50 >> 3:
		if (s->op16)
			return -EINVAL;
		cp_decode_push(s);
		return 0;
	case 0x58 >> 3:
		if (s->op16)
			return -EINVAL;
		cp_decode_pop(s);
		cp_decode_clobber(s, low, false);
		return 0;
	default:
		cp_decode_clobber(s, low, false);
		return cp_decode_take(s, cp_decode_op_bytes(s), &value);
	}
}

static void cp_decode_modrm_operand(struct state *s)
{
	u32 entry = s->entry;
	u16 flags = 0;
	u32 bytes = cp_decode_operand_bytes(s);
	bool x87_form = !s->map && s->opcode >> 3 == 0xd8 >> 3;

	if (entry & CR)
		cp_decode_clobber(s, cp_decode_field_reg(s), entry & B && !s->map);
	if (entry & CV && s->vex)
		cp_decode_clobber(s, s->vvvv, false);
	if (cp_decode_is_register_form(s)) {
		/* Vector registers have numbers too: of those only what moves to
		 * a general one counts, and that is marked by CR or 7e, 14..17.
		 */
		if (entry & W && (!(entry & VEX) || s->map == 3 || s->opcode == 0x7e))
			cp_decode_clobber(s, cp_decode_field_rm(s), entry & B);
		return;
	}
	if (x87_form)
		bytes = cp_decode_x87(s, &flags);
	else
		flags = (entry & R ? CP_ACCESS_READ : 0) | (entry & W ? CP_ACCESS_WRITE : 0);
	if (flags) {
		u64 addr = s->addr;
		bool known = s->known;

		if (s->rip)
			addr += s->cpu->ip + s->at;
		addr = cp_decode_finish(s, addr, &known);
		if (s->lock || entry & AT)
			flags |= CP_ACCESS_ATOMIC;
		cp_decode_add(s, addr, bytes, flags, known);
	}
}

static int cp_decode_lookup(struct state *s)
{
	static const u32 *const maps[4] = {one_byte, two_byte, map_38, map_3a};

	if (!s->map && ((s->opcode >> 4) == 5 || (s->opcode >> 3) == 0xb8 >> 3 ||
			(s->opcode >= 0xa0 && s->opcode <= 0xa3)))
		s->entry = OK;
	else
		s->entry = maps[s->map][s->opcode];
	if (!s->entry || (s->vex && !(s->entry & VEX)) || (!s->vex && s->entry & VONLY))
		return -EINVAL;
	/* movsxd with 66, mov to r16 from a segment ... : rare, so no. */
	if (!s->map && s->opcode == 0x63 && s->op16)
		return -EINVAL;
	return 0;
}

int cp_decode(const u8 *text, u32 avail, const struct cp_cpu *cpu, struct cp_insn *ret)
{
	struct state s = {.text = text, .avail = avail, .cpu = cpu, .insn = ret};
	bool done;
	s64 skipped;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = cp_decode_opcode(&s);
	if (!err)
		err = cp_decode_lookup(&s);
	if (!err && s.entry & M) {
		err = cp_decode_modrm(&s);
		if (err)
			return err;
		if (!s.map)
			err = cp_decode_group_one_byte(&s);
		else if (s.map == 1)
			err = cp_decode_group_two_byte(&s);
		else if (s.map == 2)
			err = cp_decode_group_map_38(&s);
		if (!err && s.entry & NOMEM && !cp_decode_is_register_form(&s))
			err = -EINVAL;
		if (!err && !s.map && s.opcode >> 3 == 0xd8 >> 3) {
			u16 flags;

			if (cp_decode_is_register_form(&s)) {
				if (s.modrm == 0xe0 && s.opcode == 0xdf)
					ret->clobbers |= 1 << RAX; /* fnstsw ax */
			} else if (!cp_decode_x87(&s, &flags)) {
				err = -EINVAL;
			}
		}
	}
	if (err)
		return err;
	err = cp_decode_register_in_opcode(&s, &done);
	if (!err && !done) {
		/* Branches take no 66 (AMD and Intel differ). */
		if (s.op16 && s.entry & END && s.entry & (IZ | I1))
			return -EINVAL;
		if (s.entry & I1)
			err = cp_decode_take(&s, 1, &skipped);
		if (!err && s.entry & IZ)
			err = cp_decode_take(&s, s.op16 && !(s.rex & REX_W) ? 2 : 4, &skipped);
		if (!err && !s.map)
			err = cp_decode_one_byte_rest(&s);
	}
	if (err)
		return err;
	if (s.entry & M)
		cp_decode_modrm_operand(&s);
	if (!s.map && s.opcode == 0xff) {
		u32 ext = s.modrm >> 3 & 7;

		if (ext == 2 || ext == 6)
			cp_decode_push(&s);
	}
	if (s.entry & CA)
		ret->clobbers |= 1 << RAX;
	if (s.entry & CD)
		ret->clobbers |= 1 << RDX;
	if (s.map == 1 && !s.vex && s.opcode == 0xa2)
		ret->clobbers |= 1 << RBX | 1 << RCX;
	if (s.map == 1 && s.opcode >> 3 == 0xc8 >> 3)
		cp_decode_clobber(&s, (s.opcode & 7) | (s.rex & REX_B ? 8 : 0), false);
	if (s.map == 3 && (s.opcode == 0x61 || s.opcode == 0x63))
		ret->clobbers |= 1 << RCX;
	/* 67 does not change the stack's width; nobody writes that, so no. */
	if (s.addr32 && ret->n && ret->operand[ret->n - 1].flags & CP_ACCESS_IMPLICIT)
		return -EINVAL;
	ret->ends = s.entry & END;
	ret->bytes = s.at;
	return 0;
}

void cp_decode_step(struct cp_cpu *cpu, const struct cp_insn *insn)
{
	cpu->ip += insn->bytes;
	cpu->known &= ~insn->clobbers;
}
