/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trapped: what an access did that a debug register trapped on, read, write or both.  x86 has no register
 * that traps on reads alone, and traps behind the instruction, so the instruction is looked for
 * among those that end there.  The registers tell which of them has the watched datum as its operand;
 * where several do, and differ, or where the instruction has overwritten its own base, the one counts to which
 * most of the bytes before lead (code falls into step with itself within a few
 * instructions: Linn and Debray, Obfuscation of executable code, CCS 2003, section 2).
 *
 * Nothing is guessed: of an access that is neither known by its address nor by its code no direction is told.
 */
#ifndef COMM_TRAPPED_H
#define COMM_TRAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

enum {
	COMM_TRAPPED_BEFORE = 64, /* bytes of code in front of the ip that are of use */
	COMM_TRAPPED_AFTER = 15,  /* and from it on: of an instruction that repeats */
};

/* Registers as the trap has left them: behind the access. */
struct comm_trap {
	uint64_t ip;
	uint64_t reg[COMM_NGPR];
	uint64_t flags;	     /* RFLAGS */
	uint64_t addr;	     /* that is watched, and */
	uint32_t size_bytes; /* of it */
};

struct comm_trapped {
	uint64_t ip;	     /* of the instruction */
	uint64_t addr;	     /* of its access */
	uint64_t size_bytes; /* 0: which bytes it accesses is not known */
	uint16_t flags;	     /* COMM_ACCESS_READ, COMM_ACCESS_WRITE, COMM_ACCESS_ATOMIC */
};

/*
 * code holds n bytes of the thread's code, from code_addr on; the trap's ip is within it, or at its end.
 * False: what the instruction did is not known.
 */
bool comm_trapped_by_code(const struct comm_trap *trap, const uint8_t *code, uint64_t code_addr,
			  size_t n, struct comm_trapped *ret);

/*
 * The same of an access that the kernel made for the thread, whose code is not looked at.  It goes through
 * the memory of programs by string instructions or loops, with the source in rsi and what it copies to in rdi, of which
 * one is the program's (rep_movs_alternative(), rep_stos_alternative() of Linux), or by __get_user_8() and
 * __put_user_8() and the like, which have the address in rax, and in rcx.
 */
bool comm_trapped_by_kernel(const struct comm_trap *trap, struct comm_trapped *ret);

#endif
