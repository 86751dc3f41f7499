/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that sites are in, for the file that sums up by function.  One user at a time;
 * everything stands on mappings of its own, as a signal may ask for that file at any moment.
 */
#ifndef COMM_EXACT_FUNCTION_H
#define COMM_EXACT_FUNCTION_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* 0 or -errno. */
int comm_exact_functions_begin(void);
void comm_exact_functions_end(void);

uint32_t comm_exact_function_of(uint32_t site);
const char *comm_exact_function_name(uint32_t function);

struct comm_exact_sum {
	uint32_t src_slot, src_function, dst_function;
	uint64_t bytes, first_bytes;
};

struct comm_exact_sums {
	struct comm_exact_sum *sum; /* open addressing; bytes 0: free */
	uint64_t mask;
};

/* capacity: how many sums there may be.  0 or -errno. */
int comm_exact_sums_begin(struct comm_exact_sums *sums, uint64_t capacity);
void comm_exact_sums_add(struct comm_exact_sums *sums, const struct comm_exact_sum *add);
void comm_exact_sums_end(struct comm_exact_sums *sums);

#pragma GCC visibility pop

#endif
