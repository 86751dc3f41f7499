/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of the instructions that bursts run: their sites, and how often their addresses were known.
 * engine.c asks for each access, dozens of times for one instruction within a burst, so what was
 * told is kept for a moment.
 */
#ifndef COMM_INSTRUCTION_H
#define COMM_INSTRUCTION_H

#include "burst.h"
#include "identity.h"
#include "space.h"

enum { COMM_INSTRUCTIONS = 4096 };

enum comm_interpreter {
	COMM_INTERPRETER_NONE,
	COMM_INTERPRETER_PART, /* of an interpreter, which does this for the program that it runs */
	COMM_INTERPRETER_LOOP, /* reads that program's bytecode */
};

struct comm_instruction {
	uint64_t ip;
	uint32_t tgid, generation;
	uint32_t site;		    /* within region, called in caller */
	uint32_t bare_site, region; /* without it */
	uint32_t caller;
	enum comm_interpreter interpreter;
	bool keeps_heap; /* its function does (allocation.h) */
	float known;	 /* share of its accesses whose address bursts knew, (0, 1] */
	uint64_t asked_ns;
};

/* Direct-mapped; all but the first members are zero at first. */
struct comm_instructions {
	const struct comm_identity *identity;
	struct comm_decoder *decoder;
	struct comm_instruction at[COMM_INSTRUCTIONS];
};

/* The instruction at ip, in a region, called in caller (call.h); valid until the next is asked for. */
const struct comm_instruction *comm_instruction_at(struct comm_instructions *instructions,
						   struct comm_space *space, uint64_t ip,
						   uint32_t region, uint32_t caller,
						   uint64_t now_ns);

/* Its site in no region, and without a caller. */
uint32_t comm_instruction_bare_site(struct comm_instructions *instructions,
				    struct comm_space *space, uint64_t ip, uint64_t now_ns);

/* What part of an interpreter the instruction at ip is of. */
enum comm_interpreter comm_instruction_interpreter(struct comm_instructions *instructions,
						   struct comm_space *space, uint64_t ip,
						   uint64_t now_ns);

#endif
