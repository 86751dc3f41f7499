/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of this process's drawn blocks (sampled.h), and which of them are allocated now, by
 * address.  Any thread calls, at any time, also within a signal handler; nobody waits.
 */
#ifndef ALLOC_TABLE_H
#define ALLOC_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { ALLOC_BUCKET_BITS = 12 };

/* How many blocks there are in each bucket: mostly none, so that little that is freed is looked up. */
extern uint8_t alloc_table_held[1 << ALLOC_BUCKET_BITS];

static inline uint32_t alloc_table_bucket(uint64_t start)
{
	uint64_t hash = start * UINT64_C(0x9e3779b97f4a7c15);

	/* Twice: blocks of one size stand at regular distances, which one multiplication may keep. */
	hash ^= hash >> 32;
	return (uint32_t)(hash * UINT64_C(0xff51afd7ed558ccd) >> (64 - ALLOC_BUCKET_BITS));
}

static inline int alloc_table_may_hold(uint64_t start)
{
	return __atomic_load_n(&alloc_table_held[alloc_table_bucket(start)], __ATOMIC_RELAXED);
}

uint64_t alloc_table_now_ns(void);
/* sp and rbp: those behind the call that allocates; the return address is below sp. */
void alloc_table_enter(uint64_t start, size_t size, const uintptr_t *sp, uintptr_t rbp);
/* To be called by who frees the block, before it does.  Returns whether the table had it. */
int alloc_table_leave(uint64_t start);

#endif
