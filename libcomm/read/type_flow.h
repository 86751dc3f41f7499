/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types through a function's instructions: which register points to what, from where DWARF places
 * variables, on through copies, loads of pointers that are members, and results of calls, to the
 * instructions that read memory.  States meet where paths do, until nothing changes any more;
 * what differs is forgotten.  The method is that of perf's data-type profiling
 * (tools/perf/util/annotate-data.c of Linux 6.8), which tracks one block; the meeting is
 * Kildall, A unified approach to global program optimization, POPL 1973.
 */
#ifndef COMM_TYPE_FLOW_H
#define COMM_TYPE_FLOW_H

#include "dwarf_type.h"
#include "type_insn.h"

/* Where a variable is, in the code from start to end. */
enum comm_type_place {
	COMM_TYPE_IN_REGISTER,
	COMM_TYPE_NEAR_REGISTER, /* its value is reg + offset */
	COMM_TYPE_IN_MEMORY,	 /* at reg + offset */
	COMM_TYPE_IN_FRAME,	 /* at the canonical frame address + offset */
};

struct comm_type_variable {
	uint64_t start, end;
	int64_t offset;
	uint32_t type;
	uint8_t place;
	int8_t reg;
};

struct comm_type_flow_ops {
	/* The canonical frame address at pc as reg + offset.  False: it is no such sum. */
	bool (*frame)(void *ctx, uint64_t pc, int8_t *ret_reg, int64_t *ret_offset);
	/* The static variable at an address; a slot of the GOT is a pointer to one (is_got). */
	uint32_t (*fixed)(void *ctx, uint64_t addr, int64_t *ret_offset, bool *ret_is_got);
	/* What the function called returns; target 0: unknown, after: behind the call. */
	uint32_t (*result)(void *ctx, uint64_t target, uint64_t after);
	/* An instruction reads size_bytes of a type. */
	void (*found)(void *ctx, const struct comm_type_insn *insn, uint32_t type, int64_t offset);
	/* Time is up. */
	bool (*over)(void *ctx);
};

struct comm_type_flow;

int comm_type_flow_create(struct comm_dwarf_types *types, const struct comm_type_flow_ops *ops,
			  void *ctx, struct comm_type_flow **ret);
void comm_type_flow_destroy(struct comm_type_flow *flow);

/* One piece of a function's code.  The variables come back in another order. */
void comm_type_flow_run(struct comm_type_flow *flow, uint64_t addr, const uint8_t *code,
			size_t code_bytes, struct comm_type_variable *variable, size_t n);
/* Operands that read memory other than the stack's: all, and those whose type was found. */
void comm_type_flow_counts(const struct comm_type_flow *flow, uint64_t *ret_all,
			   uint64_t *ret_typed);

#endif
