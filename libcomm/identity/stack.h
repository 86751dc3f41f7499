/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks: which anonymous mappings of a process are its threads' stacks.  Learned
 * from the stack pointers of samples, since /proc names the main thread's alone.
 * Embedded in the struct of a process; zeroed memory is an empty table.
 */
#ifndef COMM_STACK_H
#define COMM_STACK_H

#include "space.h"

enum { COMM_STACK_OWNERS = 4 }; /* earlier owners remembered of each stack */

struct comm_stack {
	uint64_t start; /* of the mapping */
	uint32_t tid;
	bool contested; /* not a stack: several threads run in it by turns */
	uint32_t owner[COMM_STACK_OWNERS];
	uint8_t next_owner;
};

struct comm_stacks {
	struct comm_stack *stack; /* sorted by start */
	size_t n, capacity;
};

void comm_stacks_deinit(struct comm_stacks *stacks);

/* The stack in the mapping that starts at start, or NULL. */
const struct comm_stack *comm_stacks_at(const struct comm_stacks *stacks, uint64_t start);
/*
 * Learns that the stack pointer of tid is in the mapping m of space.  True: a stack is
 * new or has another owner, so that cached objects of stack addresses are void.
 */
bool comm_stacks_learn(struct comm_stacks *stacks, struct comm_space *space,
		       const struct comm_mapping *m, uint32_t tid, uint64_t now_ns);

#endif
