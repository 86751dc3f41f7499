/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waited reads: reads of an instruction at a datum that were met in a loop that waits for another thread's
 * write.  A burst that ends early sees one turn of such a loop and knows it by its reads.
 *
 * A table of fixed size that forgets: a key takes its place from the one before.  One thread uses it; it is
 * zeroed to begin with.
 */
#ifndef COMM_WAITED_READS_H
#define COMM_WAITED_READS_H

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"

enum { COMM_WAITED_READS = 1024 };

struct comm_waited_reads {
	uint64_t key[COMM_WAITED_READS];
};

/* instruction: what names it, in the process where datum may be of several. */
static inline uint64_t comm_waited_key(uint64_t datum, uint64_t instruction)
{
	return comm_hash_mix(datum, instruction) | 1;
}

static inline bool comm_waited_reads_has(const struct comm_waited_reads *reads, uint64_t key)
{
	return reads->key[key >> 32 & (COMM_WAITED_READS - 1)] == key;
}

static inline void comm_waited_reads_add(struct comm_waited_reads *reads, uint64_t key)
{
	reads->key[key >> 32 & (COMM_WAITED_READS - 1)] = key;
}

#endif
