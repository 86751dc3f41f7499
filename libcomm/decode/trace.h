/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions that a burst has run, so that where it ends because a value is not known, one can
 * tell what it would have had to know: the load that the value comes from, found backwards through the
 * registers, flags and memory that instructions take their operands from.
 */
#ifndef COMM_TRACE_H
#define COMM_TRACE_H

#include "insn.h"
#include "known_memory.h"

struct comm_trace_step {
	uint64_t addr; /* of the memory operand */
	uint16_t bits; /* enum comm_uop_bits */
	uint8_t in[4], out[2];
	uint16_t access_bytes;
	bool has_addr;
};

static inline void comm_trace_add(struct comm_trace_step *step, const struct comm_uop *u,
				  uint64_t addr, bool has_addr)
{
	step->addr = addr;
	step->bits = u->bits;
	memcpy(step->in, u->in, sizeof(step->in));
	memcpy(step->out, u->out, sizeof(step->out));
	step->access_bytes = u->access_bytes;
	step->has_addr = has_addr;
}

/* The set of one of COMM_READY_*, for comm_trace_lacked(). */
static inline uint64_t comm_trace_one(unsigned int ready)
{
	return 1ULL << ready;
}

/*
 * The address of the load that any of wanted, registers and flags after the n steps, owes its unknown
 * bits to; 0: none is found, or the burst itself had stored there.
 */
uint64_t comm_trace_lacked(const struct comm_trace_step *step, uint32_t n, uint64_t wanted,
			   struct comm_known_memory *memory);

#endif
