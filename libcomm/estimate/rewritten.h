/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rewritten: how soon what one function reads in one object is written again, as the census
 * saw it.  A writer of long ago, as the first one of a page, is the last one only of what nobody has
 * written since: the share that is rewritten within its age is in doubt.
 *
 * Of objects and functions in a table of fixed size, where the latest take the place of others.
 */
#ifndef COMM_REWRITTEN_H
#define COMM_REWRITTEN_H

#include "estimator.h"

struct comm_rewritten;

/* function_of: as of struct comm_est_config, which it outlives; may be NULL. */
int comm_rewritten_create(comm_function_of_fn *function_of, const void *sites,
			  struct comm_rewritten **ret);
void comm_rewritten_destroy(struct comm_rewritten *rewritten);

void comm_rewritten_add(struct comm_rewritten *rewritten, const struct comm_word *word);
/* The share of what the function of a site reads in the object (comm_access_whole()) that is rewritten within age_ns; 0: nobody looked. */
double comm_rewritten_share(const struct comm_rewritten *rewritten, uint32_t object, uint32_t site,
			    uint64_t age_ns);
/* Doubts of a read whose writer wrote so long ago, by that chance, are at least the share times the chance. */
void comm_rewritten_doubt(const struct comm_rewritten *rewritten, uint32_t object, uint32_t site,
			  uint64_t age_ns, double chance, struct comm_doubts *doubts);

#endif
