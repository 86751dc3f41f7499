// SPDX-License-Identifier: GPL-2.0-or-later
#include "known_bits.h"

typedef struct comm_value val;

/* c is the shift count as the CPU masks it, to 5 or 6 bits. */
val comm_bits_shift(unsigned op, val a, unsigned c, unsigned width)
{
	uint64_t mask = comm_width_mask(width);
	unsigned n = width * 8;
	val r;

	switch (op) {
	case COMM_OP_SHL:
	case COMM_OP_SHLX:
		if (c >= n)
			return comm_bits_known(0, width);
		r.bits = a.bits << c & mask;
		r.known = (a.known << c | ((1ULL << c) - 1)) & mask;
		return r;
	case COMM_OP_SHR:
	case COMM_OP_SHRX:
		if (c >= n)
			return comm_bits_known(0, width);
		r.bits = (a.bits & mask) >> c;
		r.known = ((a.known & mask) >> c | ~(mask >> c)) & mask;
		return r;
	case COMM_OP_SAR:
	case COMM_OP_SARX:
		if (c >= n)
			c = n - 1;
		r.known = (uint64_t)((int64_t)comm_bits_sign_extend(a.known, width) >> c) & mask;
		r.bits = (uint64_t)((int64_t)comm_bits_sign_extend(a.bits, width) >> c) & r.known;
		return r;
	case COMM_OP_ROL:
		c %= n;
		break;
	default: /* ror, rorx */
		c = (n - c % n) % n;
		break;
	}
	if (!c)
		return (val){a.bits & mask, a.known & mask};
	r.bits = (a.bits << c | (a.bits & mask) >> (n - c)) & mask;
	r.known = (a.known << c | (a.known & mask) >> (n - c)) & mask;
	return r;
}

void comm_bits_shift_flags(struct comm_emu *emu, unsigned op, val a, val r, unsigned c,
			   unsigned width)
{
	uint32_t which = 0, set = 0, mask = COMM_FLAGS_ALU;
	unsigned n = width * 8;
	uint32_t carry = 0, carry_known = 0;

	if (!c)
		return;
	switch (op) {
	case COMM_OP_SHL:
		if (c <= n) {
			carry = a.bits >> (n - c) & 1;
			carry_known = a.known >> (n - c) & 1;
		}
		break;
	case COMM_OP_SHR:
	case COMM_OP_SAR:
		if (c <= n) {
			carry = a.bits >> (c - 1) & 1;
			carry_known = a.known >> (c - 1) & 1;
		} else if (op == COMM_OP_SAR) {
			carry = comm_bits_msb(a.bits, width);
			carry_known = comm_bits_msb(a.known, width);
		}
		break;
	case COMM_OP_ROL:
		carry = r.bits & 1;
		carry_known = r.known & 1;
		break;
	default:
		carry = comm_bits_msb(r.bits, width);
		carry_known = comm_bits_msb(r.known, width);
		break;
	}
	if (carry_known) {
		which |= COMM_FLAG_CF;
		set |= carry;
	}
	if (op == COMM_OP_ROL || op == COMM_OP_ROR) {
		mask = COMM_FLAG_CF | COMM_FLAG_OF;
	} else {
		comm_bits_result_flags(r, width, &which, &set);
	}
	/* OF is defined for shifts by 1 only, and set then as the manual says. */
	if (c == 1 && op == COMM_OP_SAR) {
		which |= COMM_FLAG_OF;
	} else if (c == 1 && op == COMM_OP_SHR && comm_bits_msb(a.known, width)) {
		which |= COMM_FLAG_OF;
		set |= comm_bits_msb(a.bits, width) * COMM_FLAG_OF;
	}
	comm_bits_put_flags(emu, mask, which, set);
}

val comm_bits_double_shift(unsigned op, val a, val b, unsigned c, unsigned width)
{
	unsigned n = width * 8;

	if (!c)
		return a;
	if (c >= n)
		return comm_bits_unknown();
	if (op == COMM_OP_SHRD) {
		val hi = comm_bits_shift(COMM_OP_SHL, b, n - c, width),
		    lo = comm_bits_shift(COMM_OP_SHR, a, c, width);

		return comm_bits_or(hi, lo);
	}
	return comm_bits_or(comm_bits_shift(COMM_OP_SHL, a, c, width),
			    comm_bits_shift(COMM_OP_SHR, b, n - c, width));
}

void comm_bits_multiply(struct comm_emu *emu, const struct comm_uop *u, val b)
{
	unsigned w = u->width, n = w * 8;
	val a = comm_emu_reg(emu, COMM_RAX, w), lo = comm_bits_unknown(), hi = comm_bits_unknown();
	uint32_t which = 0, set = 0;

	if (comm_bits_is_known(a, w) && comm_bits_is_known(b, w)) {
		unsigned __int128 p;

		if (u->op == COMM_OP_IMUL1)
			p = (unsigned __int128)((__int128)(int64_t)comm_bits_sign_extend(a.bits,
											 w) *
						(int64_t)comm_bits_sign_extend(b.bits, w));
		else
			p = (unsigned __int128)a.bits * b.bits;
		lo = comm_bits_known((uint64_t)p, w);
		hi = comm_bits_known((uint64_t)(p >> n), w);
		which = COMM_FLAG_CF | COMM_FLAG_OF;
		if (u->op == COMM_OP_IMUL1
			    ? hi.bits != (comm_bits_msb(lo.bits, w) ? comm_width_mask(w) : 0)
			    : hi.bits != 0)
			set = which;
	}
	comm_bits_put_flags(emu, COMM_FLAGS_ALU, which, set);
	if (w == 1) {
		comm_emu_set_reg(emu, COMM_RAX, 1, lo);
		comm_emu_set_reg(emu, COMM_RAX | COMM_UREG_HIGH, 1, hi);
	} else {
		comm_emu_set_reg(emu, COMM_RAX, w, lo);
		comm_emu_set_reg(emu, COMM_RDX, w, hi);
	}
}

/* False on a division error. */
bool comm_bits_divide(struct comm_emu *emu, const struct comm_uop *u, val b)
{
	unsigned w = u->width;
	unsigned hi_reg = w == 1 ? COMM_RAX | COMM_UREG_HIGH : COMM_RDX;
	val lo = comm_emu_reg(emu, COMM_RAX, w), hi = comm_emu_reg(emu, hi_reg, w);
	val q = comm_bits_unknown(), r = comm_bits_unknown();

	comm_bits_put_flags(emu, COMM_FLAGS_ALU, 0, 0);
	if (comm_bits_is_known(lo, w) && comm_bits_is_known(hi, w) && comm_bits_is_known(b, w)) {
		if (!b.bits)
			return false;
		if (u->op == COMM_OP_DIV) {
			unsigned __int128 n = (unsigned __int128)hi.bits << w * 8 | lo.bits;

			if (hi.bits >= b.bits)
				return false;
			q = comm_bits_known((uint64_t)(n / b.bits), w);
			r = comm_bits_known((uint64_t)(n % b.bits), w);
		} else {
			__int128 n = (__int128)((unsigned __int128)comm_bits_sign_extend(hi.bits, w)
							<< 64 |
						lo.bits);
			int64_t d = (int64_t)comm_bits_sign_extend(b.bits, w);
			__int128 quotient;

			if (w < 8)
				n = (__int128)(int64_t)comm_bits_sign_extend(
					hi.bits << w * 8 | lo.bits, w * 2);
			/* -2^127 / -1: the one quotient that 128 bits cannot hold. */
			if (d == -1 && n == (__int128)((unsigned __int128)1 << 127))
				return false;
			quotient = n / d;
			if (quotient !=
			    (__int128)(int64_t)comm_bits_sign_extend((uint64_t)quotient, w))
				return false;
			q = comm_bits_known((uint64_t)quotient, w);
			r = comm_bits_known((uint64_t)(n % d), w);
		}
	}
	comm_emu_set_reg(emu, COMM_RAX, w, q);
	comm_emu_set_reg(emu, hi_reg, w, r);
	return true;
}

static uint64_t deposit(uint64_t v, uint64_t mask)
{
	uint64_t r = 0;

	for (; mask; mask &= mask - 1, v >>= 1)
		if (v & 1)
			r |= mask & -mask;
	return r;
}

static uint64_t extract(uint64_t v, uint64_t mask)
{
	uint64_t r = 0;

	for (uint64_t bit = 1; mask; mask &= mask - 1, bit <<= 1)
		if (v & mask & -mask)
			r |= bit;
	return r;
}

/* Bit counting and field instructions: the result is known whole or not at all. */
val comm_bits_bits(struct comm_emu *emu, const struct comm_uop *u, val b)
{
	unsigned w = u->width, n = w * 8;
	uint64_t s = b.bits, mask = comm_width_mask(w);
	uint32_t which = 0, set = 0;
	val second = comm_emu_reg(emu, u->src2, w);
	val r = comm_bits_unknown();
	bool two = u->op == COMM_OP_BEXTR || u->op == COMM_OP_BZHI || u->op == COMM_OP_PDEP ||
		   u->op == COMM_OP_PEXT;

	if (!comm_bits_is_known(b, w) || (two && !comm_bits_is_known(second, w)))
		goto out;
	switch (u->op) {
	case COMM_OP_BSF:
	case COMM_OP_BSR:
		which = COMM_FLAG_ZF;
		if (!s) {
			set = COMM_FLAG_ZF;
			break;
		}
		r = comm_bits_known(u->op == COMM_OP_BSF ? (uint64_t)__builtin_ctzll(s)
							 : 63 - (uint64_t)__builtin_clzll(s),
				    w);
		break;
	case COMM_OP_TZCNT:
	case COMM_OP_LZCNT:
		if (!s)
			r = comm_bits_known(n, w);
		else if (u->op == COMM_OP_TZCNT)
			r = comm_bits_known((uint64_t)__builtin_ctzll(s), w);
		else
			r = comm_bits_known((uint64_t)__builtin_clzll(s) - (64 - n), w);
		which = COMM_FLAG_CF | COMM_FLAG_ZF;
		set = (s ? 0 : COMM_FLAG_CF) | (r.bits ? 0 : COMM_FLAG_ZF);
		break;
	case COMM_OP_POPCNT:
		r = comm_bits_known((uint64_t)__builtin_popcountll(s), w);
		which = COMM_FLAGS_ALU;
		set = s ? 0 : COMM_FLAG_ZF;
		break;
	case COMM_OP_BLSR:
	case COMM_OP_BLSI:
	case COMM_OP_BLSMSK:
		r = comm_bits_known(u->op == COMM_OP_BLSR   ? s & (s - 1)
				    : u->op == COMM_OP_BLSI ? s & -s
							    : s ^ (s - 1),
				    w);
		which = COMM_FLAG_CF | COMM_FLAG_ZF | COMM_FLAG_SF | COMM_FLAG_OF;
		if ((s == 0) != (u->op == COMM_OP_BLSI))
			set |= COMM_FLAG_CF;
		if (!r.bits)
			set |= COMM_FLAG_ZF;
		set |= comm_bits_msb(r.bits, w) * COMM_FLAG_SF;
		break;
	case COMM_OP_BEXTR: {
		unsigned from = second.bits & 0xff, len = second.bits >> 8 & 0xff;
		uint64_t field = from < n ? s >> from : 0;

		if (len < 64)
			field &= (1ULL << len) - 1;
		r = comm_bits_known(field, w);
		which = COMM_FLAG_CF | COMM_FLAG_ZF | COMM_FLAG_OF;
		set = r.bits ? 0 : COMM_FLAG_ZF;
		break;
	}
	case COMM_OP_BZHI: {
		unsigned keep = second.bits & 0xff;

		r = comm_bits_known(keep < n ? s & ((1ULL << keep) - 1) : s, w);
		which = COMM_FLAG_CF | COMM_FLAG_ZF | COMM_FLAG_SF | COMM_FLAG_OF;
		set = (keep >= n ? COMM_FLAG_CF : 0) | (r.bits ? 0 : COMM_FLAG_ZF) |
		      comm_bits_msb(r.bits, w) * COMM_FLAG_SF;
		break;
	}
	case COMM_OP_PDEP:
		r = comm_bits_known(deposit(second.bits, s & mask), w);
		break;
	default:
		r = comm_bits_known(extract(second.bits, s & mask), w);
		break;
	}
out:
	if (u->op != COMM_OP_PDEP && u->op != COMM_OP_PEXT)
		comm_bits_put_flags(emu, COMM_FLAGS_ALU, which, set);
	return r;
}
