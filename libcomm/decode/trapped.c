// SPDX-License-Identifier: GPL-2.0-or-later
#include "trapped.h"

#include "insn.h"

enum {
	INSN_BYTES = 15, /* at most */
	/* A string instruction may trap only behind a group of so many bytes (Intel SDM, volume 3, 18.3.1.2). */
	GROUP_BYTES = 64,
};

/* How an instruction's operand and the watched datum go together. */
enum fit {
	ELSEWHERE, /* it accesses other memory, or none */
	UNKNOWN,   /* its address cannot be told any more */
	FITS,
};

struct candidate {
	struct comm_trapped access;
	enum fit fit;
};

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

static void access_at(const struct comm_trap *trap, struct candidate *c, uint64_t addr,
		      uint64_t bytes, uint16_t flags)
{
	if (!overlap(addr, bytes, trap->addr, trap->size_bytes))
		return;
	/* Of a copy within the watched datum: both. */
	c->access.flags |= flags;
	c->access.addr = addr;
	c->access.size_bytes = bytes;
	c->fit = FITS;
}

/* What the last turn of a string instruction accessed by a register that has gone on since. */
static void string_access(const struct comm_trap *trap, const struct comm_uop *u, enum comm_reg reg,
			  uint16_t flags, struct candidate *c)
{
	uint64_t bytes = u->bits & (COMM_UOP_REP | COMM_UOP_REPNE) ? GROUP_BYTES : u->width;

	if (trap->flags & COMM_FLAG_DF)
		access_at(trap, c, trap->reg[reg] + u->width, bytes, flags);
	else
		access_at(trap, c, trap->reg[reg] - bytes, bytes, flags);
	/* Of a group, which bytes were accessed last is not known. */
	if (bytes != u->width)
		c->access.size_bytes = 0;
}

/* False: it is no string instruction. */
static bool string_accesses(const struct comm_trap *trap, const struct comm_uop *u,
			    struct candidate *c)
{
	switch (u->op) {
	case COMM_OP_MOVS:
		string_access(trap, u, COMM_RSI, COMM_ACCESS_READ, c);
		string_access(trap, u, COMM_RDI, COMM_ACCESS_WRITE, c);
		return true;
	case COMM_OP_CMPS:
		string_access(trap, u, COMM_RSI, COMM_ACCESS_READ, c);
		string_access(trap, u, COMM_RDI, COMM_ACCESS_READ, c);
		return true;
	case COMM_OP_LODS:
		string_access(trap, u, COMM_RSI, COMM_ACCESS_READ, c);
		return true;
	case COMM_OP_SCAS:
		string_access(trap, u, COMM_RDI, COMM_ACCESS_READ, c);
		return true;
	case COMM_OP_STOS:
		string_access(trap, u, COMM_RDI, COMM_ACCESS_WRITE, c);
		return true;
	default:
		return false;
	}
}

static void stack_access(const struct comm_trap *trap, const struct comm_uop *u,
			 struct candidate *c)
{
	uint64_t sp = trap->reg[COMM_RSP];

	switch (u->op) {
	case COMM_OP_PUSH:
	case COMM_OP_PUSHF:
		access_at(trap, c, sp, u->width, COMM_ACCESS_WRITE);
		break;
	case COMM_OP_POP:
	case COMM_OP_POPF:
	case COMM_OP_LEAVE:
		access_at(trap, c, sp - u->width, u->width, COMM_ACCESS_READ);
		break;
	default:
		break;
	}
}

/* Does the instruction set this register of its address? */
static bool sets(const struct comm_uop *u, uint8_t reg)
{
	return reg < COMM_NGPR && (u->out[0] == reg || u->out[1] == reg || u->clobbers >> reg & 1);
}

static uint64_t value(const struct comm_trap *trap, uint64_t insn, uint8_t reg)
{
	if (reg == COMM_UREG_RIP)
		return insn;
	return reg < COMM_NGPR ? trap->reg[reg] : 0;
}

static void operand_access(const struct comm_trap *trap, const struct comm_uop *u, uint64_t insn,
			   struct candidate *c)
{
	uint16_t flags = u->bits & (COMM_UOP_MEM | COMM_UOP_ATOMIC);
	uint64_t addr;

	if (!(flags & COMM_UOP_MEM))
		return;
	/* One that fails writes back what it read, which is no news. */
	if (u->op == COMM_OP_CMPXCHG && !(trap->flags & COMM_FLAG_ZF))
		flags &= (uint16_t)~COMM_ACCESS_WRITE;
	if (u->bits & (COMM_UOP_UNSURE | COMM_UOP_MASKED) || !u->access_bytes ||
	    u->segment != COMM_UREG_ZERO || sets(u, u->base) || sets(u, u->index)) {
		if (c->fit == ELSEWHERE) {
			c->access.flags |= flags;
			c->fit = UNKNOWN;
		}
		return;
	}
	addr = value(trap, insn, u->base) + (value(trap, insn, u->index) << u->shift) +
	       (uint64_t)u->disp;
	if (u->bits & COMM_UOP_ADDR32)
		addr = (uint32_t)addr;
	access_at(trap, c, addr, u->access_bytes, flags);
}

/* The instruction of at most n bytes at insn. */
static int look(const struct comm_trap *trap, const uint8_t *code, size_t n, uint64_t insn,
		struct comm_uop *u, struct candidate *ret)
{
	uint16_t flags_in;
	int len = comm_insn_decode(code, n < INSN_BYTES ? n : INSN_BYTES, u, &flags_in);

	*ret = (struct candidate){.access.ip = insn};
	/* Behind a jump, a call or a return the ip is elsewhere. */
	if (len <= 0 || comm_insn_ends_block(u) || string_accesses(trap, u, ret))
		return len;
	stack_access(trap, u, ret);
	operand_access(trap, u, insn, ret);
	return len;
}

/* Is the instruction at the trap's ip one that repeats, and amid that? */
static bool is_amid(const struct comm_trap *trap, const uint8_t *code, size_t n,
		    struct candidate *ret)
{
	struct comm_uop u;

	return look(trap, code, n, trap->ip, &u, ret) > 0 && ret->fit == FITS &&
	       u.bits & (COMM_UOP_REP | COMM_UOP_REPNE);
}

/*
 * How many bytes before the end the instruction begins to which most of the n bytes of code lead that
 * stand in front of it; 0: none.
 */
static size_t vote(const uint8_t *code, size_t n)
{
	/* Of each place from which the end is reached: where the last instruction is, from the end. */
	uint8_t last[COMM_TRAPPED_BEFORE + 1] = {0};
	unsigned int votes[INSN_BYTES + 1] = {0};
	size_t best = 0;

	for (size_t left = 1; left <= n; left++) {
		struct comm_uop u;
		uint16_t flags_in;
		int len = comm_insn_decode(code + n - left, left < INSN_BYTES ? left : INSN_BYTES,
					   &u, &flags_in);

		if (len <= 0)
			continue;
		last[left] = (size_t)len == left ? (uint8_t)left : last[left - (size_t)len];
		if (last[left] && ++votes[last[left]] > votes[best])
			best = last[left];
	}
	return best;
}

/* Do all that fit best go the same way?  Then the longest of them, prefixes included, is *ret. */
static bool agree(const struct candidate *candidate, struct candidate *ret)
{
	bool any = false;

	for (size_t len = 1; len <= INSN_BYTES; len++) {
		const struct candidate *c = &candidate[len];

		if (c->fit != FITS)
			continue;
		if (any && (c->access.flags ^ ret->access.flags) & COMM_UOP_MEM)
			return false;
		*ret = *c;
		any = true;
	}
	return any;
}

bool comm_trapped_by_code(const struct comm_trap *trap, const uint8_t *code, uint64_t code_addr,
			  size_t n, struct comm_trapped *ret)
{
	struct candidate candidate[INSN_BYTES + 1] = {0}, amid, found;
	size_t before = trap->ip - code_addr, skipped;
	struct comm_uop u;
	bool is_found;

	if (before > n)
		return false;
	if (is_amid(trap, code + before, n - before, &amid)) {
		*ret = amid.access;
		return true;
	}
	for (size_t len = 1; len <= INSN_BYTES && len <= before; len++)
		if (look(trap, code + before - len, len, trap->ip - len, &u, &found) == (int)len)
			candidate[len] = found;
	is_found = agree(candidate, &found);
	if (!is_found) {
		skipped = before > COMM_TRAPPED_BEFORE ? before - COMM_TRAPPED_BEFORE : 0;
		found = candidate[vote(code + skipped, before - skipped)];
		is_found = found.fit != ELSEWHERE;
	}
	if (is_found)
		*ret = found.access;
	return is_found;
}

/* Is a register within what a copy may have gone on by, behind the watched datum or, in a loop, before it? */
static bool is_near(const struct comm_trap *trap, enum comm_reg reg)
{
	return overlap(trap->reg[reg], 2 * GROUP_BYTES, trap->addr + GROUP_BYTES, trap->size_bytes);
}

static bool is_at(const struct comm_trap *trap, enum comm_reg reg)
{
	return overlap(trap->reg[reg], 1, trap->addr, trap->size_bytes);
}

bool comm_trapped_by_kernel(const struct comm_trap *trap, struct comm_trapped *ret)
{
	bool reads = is_near(trap, COMM_RSI) || is_at(trap, COMM_RAX);
	bool writes = is_near(trap, COMM_RDI) || is_at(trap, COMM_RCX);

	*ret = (struct comm_trapped){0};
	if (reads == writes)
		return false;
	ret->flags = reads ? COMM_ACCESS_READ : COMM_ACCESS_WRITE;
	return true;
}
