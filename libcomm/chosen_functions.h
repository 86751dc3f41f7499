/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chosen functions: those whose reads a run is about (commd --function), by a pattern of their names.  What other
 * code reads is left out, what it writes is not: who wrote what a chosen function reads may be anybody.  Not for
 * reports, which choose among what was stored (row_filter.h).  One thread uses it.
 */
#ifndef COMM_CHOSEN_FUNCTIONS_H
#define COMM_CHOSEN_FUNCTIONS_H

#include "burst.h"
#include "event.h"
#include "instruction.h"

/* All but the first members are zero at first. */
struct comm_chosen_functions {
	const char *pattern; /* NULL: all functions are chosen */
	const struct comm_identity *identity;
	uint8_t *known; /* of functions by their ids */
	uint32_t n_known;
};

void comm_chosen_functions_deinit(struct comm_chosen_functions *chosen);
/* Whether the site is of a chosen function.  A function whose name is not known yet is none. */
bool comm_chosen_functions_has(struct comm_chosen_functions *chosen, uint32_t site);
/* Marks the reads of a burst that are left out. */
void comm_chosen_functions_burst(struct comm_chosen_functions *chosen,
				 struct comm_instructions *instructions, struct comm_space *space,
				 uint64_t now_ns, struct comm_burst *burst);

#endif
