/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic on values of which some bits are not known, and the flags that it
 * sets.  A result bit is known only when the known bits determine it.
 */
#ifndef COMM_KNOWN_BITS_H
#define COMM_KNOWN_BITS_H

#include "emu.h"

static inline struct comm_value comm_bits_unknown(void)
{
	return (struct comm_value){0, 0};
}

static inline struct comm_value comm_bits_known(uint64_t bits, unsigned width)
{
	uint64_t mask = comm_width_mask(width);

	return (struct comm_value){bits & mask, mask};
}

static inline bool comm_bits_is_known(struct comm_value v, unsigned width)
{
	uint64_t mask = comm_width_mask(width);

	return (v.known & mask) == mask;
}

/* Of the flags in mask, those in which get their value from set; the others become unknown. */
static inline void comm_bits_put_flags(struct comm_emu *emu, uint32_t mask, uint32_t which,
				       uint32_t set)
{
	emu->flags = (emu->flags & ~mask) | (set & which);
	emu->flags_known = (emu->flags_known & ~mask) | which;
}

static inline uint32_t comm_bits_msb(uint64_t v, unsigned width)
{
	return (uint32_t)(v >> (width * 8 - 1) & 1);
}

/* ZF, SF and PF of a result, as far as its known bits tell. */
static inline void comm_bits_result_flags(struct comm_value r, unsigned width, uint32_t *which,
					  uint32_t *set)
{
	if (r.bits) {
		*which |= COMM_FLAG_ZF;
	} else if (comm_bits_is_known(r, width)) {
		*which |= COMM_FLAG_ZF;
		*set |= COMM_FLAG_ZF;
	}
	if (comm_bits_msb(r.known, width)) {
		*which |= COMM_FLAG_SF;
		*set |= comm_bits_msb(r.bits, width) * COMM_FLAG_SF;
	}
	if ((r.known & 0xff) == 0xff) {
		*which |= COMM_FLAG_PF;
		if (!__builtin_parity((unsigned)(r.bits & 0xff)))
			*set |= COMM_FLAG_PF;
	}
}

/* The known low bits of k: those of a sum depend only on the low bits of its parts. */
static inline uint64_t comm_bits_low_known(uint64_t k)
{
	return k & ~(k + 1);
}

static inline struct comm_value comm_bits_add(struct comm_emu *emu, struct comm_value a,
					      struct comm_value b, unsigned carry, unsigned width,
					      uint32_t mask, bool want)
{
	uint64_t wmask = comm_width_mask(width);
	uint64_t k = a.known & b.known & wmask;
	struct comm_value r;

	r.known = k == wmask ? k : comm_bits_low_known(k);
	r.bits = (a.bits + b.bits + carry) & r.known;
	if (want) {
		uint32_t which = 0, set = 0;

		comm_bits_result_flags(r, width, &which, &set);
		if (k == wmask) {
			which |= COMM_FLAG_CF | COMM_FLAG_OF;
			if (r.bits < a.bits || (carry && r.bits == a.bits))
				set |= COMM_FLAG_CF;
			if (comm_bits_msb((a.bits ^ r.bits) & (b.bits ^ r.bits), width))
				set |= COMM_FLAG_OF;
		}
		comm_bits_put_flags(emu, mask, which & mask, set & mask);
	}
	return r;
}

static inline struct comm_value comm_bits_sub(struct comm_emu *emu, struct comm_value a,
					      struct comm_value b, unsigned borrow, unsigned width,
					      uint32_t mask, bool want)
{
	uint64_t wmask = comm_width_mask(width);
	uint64_t k = a.known & b.known & wmask;
	struct comm_value r;

	r.known = k == wmask ? k : comm_bits_low_known(k);
	r.bits = (a.bits - b.bits - borrow) & r.known;
	if (want) {
		uint32_t which = 0, set = 0;

		comm_bits_result_flags(r, width, &which, &set);
		if (k == wmask) {
			which |= COMM_FLAG_CF | COMM_FLAG_OF;
			if (a.bits < b.bits || (borrow && a.bits == b.bits))
				set |= COMM_FLAG_CF;
			if (comm_bits_msb((a.bits ^ b.bits) & (a.bits ^ r.bits), width))
				set |= COMM_FLAG_OF;
		}
		comm_bits_put_flags(emu, mask, which & mask, set & mask);
	}
	return r;
}

static inline void comm_bits_logic_flags(struct comm_emu *emu, struct comm_value r, unsigned width)
{
	uint32_t which = COMM_FLAG_CF | COMM_FLAG_OF, set = 0;

	comm_bits_result_flags(r, width, &which, &set);
	comm_bits_put_flags(emu, COMM_FLAGS_ALU, which, set);
}

static inline struct comm_value comm_bits_and(struct comm_value a, struct comm_value b)
{
	uint64_t k = (a.known & b.known) | (a.known & ~a.bits) | (b.known & ~b.bits);

	return (struct comm_value){a.bits & b.bits, k};
}

static inline struct comm_value comm_bits_or(struct comm_value a, struct comm_value b)
{
	uint64_t k = (a.known & b.known) | a.bits | b.bits;

	return (struct comm_value){(a.bits | b.bits) & k, k};
}

static inline struct comm_value comm_bits_xor(struct comm_value a, struct comm_value b)
{
	uint64_t k = a.known & b.known;

	return (struct comm_value){(a.bits ^ b.bits) & k, k};
}

static inline uint64_t comm_bits_sign_extend(uint64_t v, unsigned width)
{
	unsigned by = 64 - width * 8;

	return by ? (uint64_t)((int64_t)(v << by) >> by) : v;
}

/* op is the COMM_OP_ of the shift; count is already cut to 5 or 6 bits. */
struct comm_value comm_bits_shift(unsigned op, struct comm_value a, unsigned count, unsigned width);
void comm_bits_shift_flags(struct comm_emu *emu, unsigned op, struct comm_value a,
			   struct comm_value r, unsigned count, unsigned width);
struct comm_value comm_bits_double_shift(unsigned op, struct comm_value a, struct comm_value b,
					 unsigned count, unsigned width);
/* rdx:rax = rax * b and its narrower forms. */
void comm_bits_multiply(struct comm_emu *emu, const struct comm_uop *u, struct comm_value b);
/* False on a division error. */
bool comm_bits_divide(struct comm_emu *emu, const struct comm_uop *u, struct comm_value b);
/* Bit counting and field instructions. */
struct comm_value comm_bits_bits(struct comm_emu *emu, const struct comm_uop *u,
				 struct comm_value b);

#endif
