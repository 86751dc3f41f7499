/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The string instructions (movs, stos, lods, cmps, scas), each with all its elements as one: what
 * one does to the emulated state, and which memory it reads and writes.
 *
 * What it is not for: the accesses of a burst and how often their addresses are known (burst.c), and
 * all other data instructions (emu.h).
 */
#ifndef COMM_STRING_INSN_H
#define COMM_STRING_INSN_H

#include "emu.h"
#include "timing.h"

struct comm_string_side {
	uint64_t addr, size_bytes;
	unsigned flags; /* COMM_ACCESS_* */
};

/* What a string instruction did. */
struct comm_string_run {
	bool has_elements; /* false: of none, and of one that faults before it is told */
	bool is_known;	   /* where it goes, and how far */
	uint32_t n_sides;
	struct comm_string_side side[2]; /* in the order of the accesses */
	float cycle;
};

/* False when the thread faults; the sides before that are told. */
bool comm_string_exec(struct comm_emu *emu, struct comm_timing *clock, const struct comm_uop *u,
		      struct comm_string_run *ret);

#endif
