/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code pairs: was this code ever seen to write the very datum that that code read?  Who wrote a
 * datum that no sampled write met is told by who writes around it.  In arrays that mostly holds; in
 * records of several fields, such as the items of a cache, the code that is met there most writes other
 * fields than the ones read.  Real pairs meet at one and the same datum now and then, others never do.
 * Of the writing code that is asked of its function: a copy's loop and its last bytes are lines of their own, which write alike.
 */
#ifndef COMM_CODE_PAIRS_H
#define COMM_CODE_PAIRS_H

#include <stdbool.h>

#include "estimator.h"

struct comm_code_pairs;

struct comm_code_pair {
	uint32_t src_site, dst_site;
	uint32_t object;
};

int comm_code_pairs_create(comm_function_of_fn *function_of, const void *sites,
			   struct comm_code_pairs **ret);
void comm_code_pairs_destroy(struct comm_code_pairs *pairs);

/* So much of a read was of a datum that src_site was seen to write. */
void comm_code_pairs_met(struct comm_code_pairs *pairs, const struct comm_code_pair *pair,
			 double share);
/*
 * Whether a read is of src_site's data, who was seen to write around the datum only.  expected: the
 * chance that it would have been seen to write the datum by now, if it does; of all such reads it is
 * added up.  False: the pair would have been met by now.
 */
bool comm_code_pairs_likely(struct comm_code_pairs *pairs, const struct comm_code_pair *pair,
			    double expected);
/* Whether it was met at one datum, if only once: half a read will do, for two sites may have written it. */
bool comm_code_pairs_known(struct comm_code_pairs *pairs, const struct comm_code_pair *pair);

#endif
