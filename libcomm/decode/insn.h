/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One x86-64 instruction as a micro-operation: what the emulator and the
 * timing model need of it, in one cache line.
 *
 * An instruction that is not modelled becomes COMM_OP_OTHER: its memory access
 * is still described, and every register and flag it writes becomes unknown.
 * Only a change of control flow that is not modelled becomes COMM_OP_UNSUPPORTED,
 * which ends a burst.
 *
 * What it is not for: keeping instructions (codecache.h) or running them
 * (emu.h).
 */
#ifndef COMM_INSN_H
#define COMM_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

enum comm_op {
	COMM_OP_OTHER,
	COMM_OP_MOV,
	COMM_OP_MOVZX,
	COMM_OP_MOVSX,
	COMM_OP_LEA,
	COMM_OP_ADD,
	COMM_OP_ADC,
	COMM_OP_SUB,
	COMM_OP_SBB,
	COMM_OP_CMP,
	COMM_OP_AND,
	COMM_OP_OR,
	COMM_OP_XOR,
	COMM_OP_TEST,
	COMM_OP_INC,
	COMM_OP_DEC,
	COMM_OP_NEG,
	COMM_OP_NOT,
	COMM_OP_SHL,
	COMM_OP_SHR,
	COMM_OP_SAR,
	COMM_OP_ROL,
	COMM_OP_ROR,
	COMM_OP_SHLD,
	COMM_OP_SHRD,
	COMM_OP_IMUL,  /* dst = src * (imm, or dst) */
	COMM_OP_MUL1,  /* d:a = a * src */
	COMM_OP_IMUL1, /* the same, signed */
	COMM_OP_DIV,
	COMM_OP_IDIV,
	COMM_OP_SEXT_A, /* cbw, cwde, cdqe */
	COMM_OP_SEXT_D, /* cwd, cdq, cqo */
	COMM_OP_BSWAP,
	COMM_OP_BSF,
	COMM_OP_BSR,
	COMM_OP_TZCNT,
	COMM_OP_LZCNT,
	COMM_OP_POPCNT,
	COMM_OP_BT,
	COMM_OP_BTS,
	COMM_OP_BTR,
	COMM_OP_BTC,
	COMM_OP_ANDN,
	COMM_OP_BLSR,
	COMM_OP_BLSI,
	COMM_OP_BLSMSK,
	COMM_OP_BEXTR,
	COMM_OP_BZHI,
	COMM_OP_PDEP,
	COMM_OP_PEXT,
	COMM_OP_RORX,
	COMM_OP_SHLX,
	COMM_OP_SHRX,
	COMM_OP_SARX,
	COMM_OP_MULX,
	COMM_OP_XCHG,
	COMM_OP_XADD,
	COMM_OP_CMPXCHG,
	COMM_OP_CMOV,
	COMM_OP_SETCC,
	COMM_OP_CARRY, /* clc, stc, cmc: imm 0, 1, 2 */
	COMM_OP_DIRECTION,
	COMM_OP_LAHF,
	COMM_OP_SAHF,
	COMM_OP_PUSH,
	COMM_OP_POP,
	COMM_OP_PUSHF,
	COMM_OP_POPF,
	COMM_OP_LEAVE,
	COMM_OP_ENTER,
	COMM_OP_MOVS,
	COMM_OP_STOS,
	COMM_OP_LODS,
	COMM_OP_CMPS,
	COMM_OP_SCAS,
	COMM_OP_JCC,
	COMM_OP_JMP,
	COMM_OP_JMP_TO, /* indirect */
	COMM_OP_CALL,
	COMM_OP_CALL_TO,
	COMM_OP_RET,
	COMM_OP_LOOP, /* cond: 0 loop, 1 loope, 2 loopne, 3 jrcxz */
	COMM_OP_KMOV, /* mask register dst = src */
	COMM_OP_KSET, /* the same = imm */
	COMM_OP_GOTO, /* no instruction: the line goes on at another position of the cache */
	COMM_OP_SYSCALL,
	COMM_OP_UNSUPPORTED,
	COMM_OP_UNDECODED,
};

/* Registers of a micro-operation beyond enum comm_reg. */
enum {
	COMM_UREG_ZERO = COMM_NGPR, /* no base, no index, no segment */
	COMM_UREG_RIP,
	COMM_UREG_FS,
	COMM_UREG_GS,
	COMM_UREG_MAX,
	COMM_UREG_HIGH = 0x20, /* or'ed: ah, ch, dh, bh */
};

/* Registers and flags whose ready time the timing model keeps; 0..15 are the GPRs. */
enum {
	COMM_READY_FLAGS = COMM_NGPR,
	COMM_READY_X87,
	COMM_READY_MASK, /* opmask registers */
	COMM_READY_NONE, /* never written */
	COMM_READY_SINK, /* never read */
	COMM_READY_VECTOR = 32,
	COMM_READY_MAX = 64,
};

enum comm_uop_bits {
	COMM_UOP_READ = COMM_ACCESS_READ,
	COMM_UOP_WRITE = COMM_ACCESS_WRITE,
	COMM_UOP_ATOMIC = COMM_ACCESS_ATOMIC,
	COMM_UOP_MEM = COMM_UOP_READ | COMM_UOP_WRITE,
	/*
	 * Lanes of width bytes that mask register src2 chooses: of access_bytes, or, with cond, as many as
	 * it has bits, from the first one on.
	 */
	COMM_UOP_MASKED = 1 << 5,
	COMM_UOP_UNSURE = 1 << 6, /* address or extent depends on vectors, masks */
	COMM_UOP_ADDR32 = 1 << 7,
	COMM_UOP_DST_MEM = 1 << 8,
	COMM_UOP_SRC_MEM = 1 << 9,
	COMM_UOP_SRC_IMM = 1 << 10,
	COMM_UOP_REP = 1 << 11,
	COMM_UOP_REPNE = 1 << 12,
	COMM_UOP_THREE = 1 << 13,	  /* the third operand is the immediate */
	COMM_UOP_FLAGS_IN = 1 << 14,	  /* waits for the flags */
	COMM_UOP_PARTIAL_FLAGS = 1 << 15, /* may leave the flags alone */
};

/* Classes of instruction cost (latency, port); comm_cost_table has the figures. */
enum comm_cost_class {
	COMM_COST_ALU,
	COMM_COST_NONE, /* nop, eliminated moves */
	COMM_COST_BRANCH,
	COMM_COST_MUL,
	COMM_COST_DIV32,
	COMM_COST_DIV64,
	COMM_COST_VEC,
	COMM_COST_FPADD,
	COMM_COST_FPMUL,
	COMM_COST_FPDIV,
	COMM_COST_FPSQRT,
	COMM_COST_CROSS, /* vector to general register and back, conversions */
	COMM_COST_X87,
	COMM_COST_LOCK,
	COMM_COST_STRING,
	COMM_COST_SLOW, /* rdtsc, cpuid, pause, fences */
	COMM_COST_MAX
};

struct comm_cost {
	float latency_cycles;
	float port_cycles; /* reciprocal throughput */
	uint8_t port;
};

enum { COMM_PORT_ALU, COMM_PORT_MUL, COMM_PORT_VEC, COMM_PORT_DIV, COMM_PORT_MAX };

extern const struct comm_cost comm_cost_table[COMM_COST_MAX];

struct comm_uop {
	uint64_t at; /* file offset, or address of code that is not in a file */
	int64_t imm; /* of a direct branch: target - at; COMM_OP_OTHER: mask registers that become unknown */
	int64_t disp;	     /* length added when the base is RIP */
	uint32_t link;	     /* cache position of the branch target, 0: not looked up */
	uint32_t known, all; /* count of accesses with a known address, and of all */
	uint16_t access_bytes;
	uint16_t clobbers; /* GPRs that become unknown: COMM_OP_OTHER */
	uint8_t op;
	uint8_t len_bytes;
	uint8_t width; /* of the operation, bytes */
	uint8_t cond;  /* condition code; source width of movzx, movsx */
	uint8_t dst, src, src2;
	uint8_t base, index, shift, segment;
	uint8_t cost; /* enum comm_cost_class */
	uint16_t bits;
	uint16_t flags_out;  /* EFLAGS that the instruction may change */
	uint16_t flags_live; /* EFLAGS that a later instruction may read */
	/* COMM_READY_*, inputs: [0], [1] of the address (of data without memory), then of data. */
	uint8_t in[4];
	uint8_t out[2];
};

_Static_assert(sizeof(struct comm_uop) == 64, "one cache line");

enum {
	COMM_FLAG_CF = 1 << 0,
	COMM_FLAG_PF = 1 << 2,
	COMM_FLAG_AF = 1 << 4,
	COMM_FLAG_ZF = 1 << 6,
	COMM_FLAG_SF = 1 << 7,
	COMM_FLAG_DF = 1 << 10,
	COMM_FLAG_OF = 1 << 11,
	COMM_FLAGS_ALU = COMM_FLAG_CF | COMM_FLAG_PF | COMM_FLAG_AF | COMM_FLAG_ZF | COMM_FLAG_SF |
			 COMM_FLAG_OF,
	COMM_FLAGS_ALL = COMM_FLAGS_ALU | COMM_FLAG_DF,
};

/*
 * Decodes one instruction.  Returns its length; 0 when the bytes end inside it;
 * -EILSEQ when they are no instruction.  ret->at, link, known, all and flags_live are
 * left to the cache.  *ret_flags_in are the EFLAGS that the instruction reads.
 */
int comm_insn_decode(const uint8_t *bytes, size_t len_bytes, struct comm_uop *ret,
		     uint16_t *ret_flags_in);

/* True when control never goes on to the instruction after this one. */
bool comm_insn_ends_block(const struct comm_uop *uop);

#endif
