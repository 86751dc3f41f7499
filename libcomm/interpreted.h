/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an interpreter runs while a burst runs the interpreter: the bytecode, which its loop reads
 * (CPython from 3.11 on: two bytes, or each of them; Include/cpython/code.h, "_Py_CODEUNIT"), so a burst shows where it is.  What the interpreter
 * does from one such read to the next, it does for the program's code there.  inspect.h's code() tells whose function
 * that is.
 */
#ifndef COMM_INTERPRETED_H
#define COMM_INTERPRETED_H

#include "instruction.h"

/* Fills bytecode of the burst's accesses, as far as it is known. */
void comm_interpreted_tell(struct comm_instructions *instructions, struct comm_space *space,
			   const struct comm_sample *sample, uint64_t now_ns,
			   struct comm_burst *burst);

#endif
