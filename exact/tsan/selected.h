/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions whose reads alone count, if somebody asked for some (COMM_EXACT_FUNCTION, a file name pattern).  Writes are
 * followed in all code: who wrote what these read is to be known.  Whose an instruction is is found out once, by its
 * symbol; what libc reads is the function's that called it.
 */
#ifndef COMM_EXACT_SELECTED_H
#define COMM_EXACT_SELECTED_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Whether anybody asked: then reads take the long way, and are looked at there. */
extern int comm_exact_selects;

/* Before the first read.  pattern NULL: all count. */
void comm_exact_select(const char *pattern);
/* Of somebody who asked: whether a read there counts; pc as of comm_exact_read(). */
int comm_exact_is_selected(uint64_t pc);

/*
 * What was found out of instructions, by hash: pc << 1 | whether it is selected; 0 where nothing was, as where nobody
 * asked.  Most reads in a run with a selection are looked at here alone.
 */
enum { COMM_EXACT_VERDICTS = 1 << 12 };
extern uint64_t comm_exact_verdict[COMM_EXACT_VERDICTS];

static inline uint64_t *comm_exact_verdict_at(uint64_t pc)
{
	return &comm_exact_verdict[pc / 2 % COMM_EXACT_VERDICTS];
}

static inline int comm_exact_is_skipped(uint64_t pc)
{
	return __atomic_load_n(comm_exact_verdict_at(pc), __ATOMIC_RELAXED) == pc << 1;
}

/* A read there counts, as all do where nobody asked. */
static inline int comm_exact_counts(uint64_t pc)
{
	return __builtin_expect(!comm_exact_selects, 1) ||
	       __atomic_load_n(comm_exact_verdict_at(pc), __ATOMIC_RELAXED) == (pc << 1 | 1) ||
	       comm_exact_is_selected(pc);
}

/* The whole name, or what people call the function (../bare_name.h). */
int comm_exact_name_fits(const char *pattern, const char *name);

#pragma GCC visibility pop

#endif
