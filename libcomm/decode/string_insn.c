// SPDX-License-Identifier: GPL-2.0-or-later
#include "string_insn.h"

enum {
	/* cmps and scas are emulated element by element, at most so many. */
	STRING_STEPS = 256,
};

/* Tells one side: n elements from the address in reg. */
static bool add_side(const struct comm_emu *emu, unsigned reg, unsigned width, uint64_t n,
		     bool backwards, unsigned flags, struct comm_string_run *ret)
{
	uint64_t addr = emu->bits[reg];

	if (!n)
		return true;
	if (backwards)
		addr -= (n - 1) * width;
	if (!comm_memory_is_user(addr, n * width))
		return false;
	ret->side[ret->n_sides++] = (struct comm_string_side){addr, n * width, flags};
	return true;
}

/* Moves the address in reg; not sure by how much: it is not known any more. */
static void move_on(struct comm_emu *emu, unsigned reg, bool sure, uint64_t by)
{
	struct comm_value none = {0, 0};

	if (sure)
		comm_emu_add(emu, reg, by);
	else
		comm_emu_set_reg(emu, reg, 8, none);
}

/*
 * movs, stos, lods: the remaining count tells the exact range.  False when the
 * thread faults.
 */
static bool string_copy(struct comm_emu *emu, struct comm_timing *clock, const struct comm_uop *u,
			struct comm_string_run *ret)
{
	bool rep = u->bits & (COMM_UOP_REP | COMM_UOP_REPNE);
	bool reads = u->op != COMM_OP_STOS, writes = u->op != COMM_OP_LODS;
	bool down = emu->flags & COMM_FLAG_DF, sure = emu->flags_known & COMM_FLAG_DF;
	uint64_t n = rep ? emu->bits[COMM_RCX] : 1, by = (down ? -n : n) * u->width;
	struct comm_value v = comm_emu_reg(emu, COMM_RAX, u->width);
	struct comm_value none = {0, 0};
	unsigned flags = rep ? COMM_ACCESS_REP : 0;
	bool has_source = emu->known[COMM_RSI] == ~0ULL, has_dest = emu->known[COMM_RDI] == ~0ULL;

	if (rep && emu->known[COMM_RCX] != ~0ULL)
		sure = false;
	if (sure && !n)
		return true;
	if (n >> 48 && sure)
		return false;
	ret->has_elements = true;
	ret->is_known = sure && (!reads || has_source) && (!writes || has_dest);
	if (sure)
		ret->cycle = comm_timing_string(clock, n * u->width);
	if (reads && sure && has_source) {
		if (!add_side(emu, COMM_RSI, u->width, n, down, flags | COMM_ACCESS_READ, ret))
			return false;
		if (!rep)
			v = comm_memory_load(&emu->overlay, emu->bits[COMM_RSI], u->width);
		else
			v = none;
	} else if (reads) {
		v = none;
	}
	if (writes && sure && has_dest) {
		if (!add_side(emu, COMM_RDI, u->width, n, down, flags | COMM_ACCESS_WRITE, ret))
			return false;
		if (rep)
			comm_memory_clobber(&emu->overlay,
					    emu->bits[COMM_RDI] - (down ? (n - 1) * u->width : 0),
					    n * u->width);
		else
			comm_memory_store(&emu->overlay, emu->bits[COMM_RDI], u->width, v);
	} else if (writes) {
		comm_memory_wild(&emu->overlay);
	}
	if (u->op == COMM_OP_LODS)
		comm_emu_set_reg(emu, COMM_RAX, u->width, v);
	if (reads)
		move_on(emu, COMM_RSI, sure, by);
	if (writes)
		move_on(emu, COMM_RDI, sure, by);
	if (rep) {
		none.known = ~0ULL; /* the count ends at zero */
		comm_emu_set_reg(emu, COMM_RCX, 8, none);
	}
	return true;
}

/* cmps, scas: the values that they read decide how far they go. */
static bool string_compare(struct comm_emu *emu, struct comm_timing *clock,
			   const struct comm_uop *u, struct comm_string_run *ret)
{
	bool repeats = u->bits & (COMM_UOP_REP | COMM_UOP_REPNE);
	bool two = u->op == COMM_OP_CMPS, known;
	bool down = emu->flags & COMM_FLAG_DF, sure = emu->flags_known & COMM_FLAG_DF;
	uint64_t left = repeats ? emu->bits[COMM_RCX] : 1, n = 0;
	uint64_t rsi = emu->bits[COMM_RSI], rdi = emu->bits[COMM_RDI], by;
	struct comm_value none = {0, 0}, zero = {0, ~0ULL};
	unsigned flags = COMM_ACCESS_READ | (repeats ? COMM_ACCESS_REP : 0);

	if (repeats && emu->known[COMM_RCX] != ~0ULL)
		sure = false;
	if (sure && !left)
		return true;
	if (emu->known[COMM_RDI] != ~0ULL || (two && emu->known[COMM_RSI] != ~0ULL))
		sure = false;
	by = down ? -(uint64_t)u->width : u->width;
	known = sure;
	while (known && left) {
		struct comm_value a, b;

		if (!comm_memory_is_user(rdi, u->width) ||
		    (two && !comm_memory_is_user(rsi, u->width)))
			return false;
		b = comm_memory_load(&emu->overlay, rdi, u->width);
		a = two ? comm_memory_load(&emu->overlay, rsi, u->width)
			: comm_emu_reg(emu, COMM_RAX, u->width);
		comm_emu_compare(emu, a, b, u->width);
		n++;
		left--;
		rdi += by;
		if (two)
			rsi += by;
		if (!repeats)
			break;
		if (!(emu->flags_known & COMM_FLAG_ZF) || (n == STRING_STEPS && left)) {
			known = false;
			break;
		}
		if (!(emu->flags & COMM_FLAG_ZF) == !(u->bits & COMM_UOP_REPNE))
			break;
	}
	ret->has_elements = true;
	ret->is_known = known;
	if (!known) {
		emu->flags_known &= ~(uint32_t)COMM_FLAGS_ALU;
		comm_emu_set_reg(emu, COMM_RDI, 8, none);
		if (two)
			comm_emu_set_reg(emu, COMM_RSI, 8, none);
		if (repeats)
			comm_emu_set_reg(emu, COMM_RCX, 8, none);
		return true;
	}
	ret->cycle = comm_timing_string(clock, n * u->width);
	if (two && !add_side(emu, COMM_RSI, u->width, n, down, flags, ret))
		return false;
	if (!add_side(emu, COMM_RDI, u->width, n, down, flags, ret))
		return false;
	zero.bits = rdi;
	comm_emu_set_reg(emu, COMM_RDI, 8, zero);
	if (two) {
		zero.bits = rsi;
		comm_emu_set_reg(emu, COMM_RSI, 8, zero);
	}
	if (repeats) {
		zero.bits = left;
		comm_emu_set_reg(emu, COMM_RCX, 8, zero);
	}
	return true;
}

bool comm_string_exec(struct comm_emu *emu, struct comm_timing *clock, const struct comm_uop *u,
		      struct comm_string_run *ret)
{
	ret->has_elements = ret->is_known = false;
	ret->n_sides = 0;
	ret->cycle = 0;
	if (u->op == COMM_OP_CMPS || u->op == COMM_OP_SCAS)
		return string_compare(emu, clock, u, ret);
	return string_copy(emu, clock, u, ret);
}
