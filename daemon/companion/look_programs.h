/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs that look at words when threads leave their CPUs (bpf/switch_look.bpf.c), loaded for one user:
 * which words they look at, what they tell of them, and what that takes.  Not for what it means, nor for how long
 * a word is looked at: switch_window.h.  One thread uses them; the programs run meanwhile, on all CPUs.
 */
#ifndef COMM_LOOK_PROGRAMS_H
#define COMM_LOOK_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "live_word.h"
#include "look_event.h"

struct comm_look_programs;

/* What a program told; NULL: something that is no such record. */
typedef void comm_look_fn(void *ctx, const struct comm_raw_look *look);

/* Loads and attaches them.  -ENODEV: it is not known how many CPUs there are; -errno of the kernel's. */
int comm_look_programs_create(comm_look_fn *fn, void *ctx, struct comm_look_programs **ret);
void comm_look_programs_destroy(struct comm_look_programs *programs);
/* For good: they run no more.  What they told before can be taken still. */
void comm_look_programs_detach(struct comm_look_programs *programs);
/* All that a machine may have: the numbers in records are below that. */
uint32_t comm_look_programs_cpus(const struct comm_look_programs *programs);
/*
 * From now on that word is looked at, as number at, below COMM_RAW_LOOK_WORDS, which no other has.  generation: not
 * 0, and none that a word had before; records have it.
 */
void comm_look_programs_watch(struct comm_look_programs *programs, unsigned int at,
			      const struct comm_live_word *word, uint32_t generation);
/* No more looks at it. */
void comm_look_programs_unwatch(struct comm_look_programs *programs, unsigned int at);
/* Whether any word is looked at. */
bool comm_look_programs_look(const struct comm_look_programs *programs);
/* Hands all records that are there to fn. */
void comm_look_programs_take(struct comm_look_programs *programs);
/* Sums over all CPUs, since they were loaded. */
void comm_look_programs_totals(const struct comm_look_programs *programs,
			       struct comm_raw_look_cpu *ret);

#endif
