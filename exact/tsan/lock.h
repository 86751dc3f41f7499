/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks around atomic operations and what is noted of them, so that the two cannot come apart.  They stand
 * as close to each other as the granules that they are for, on memory that children of fork() share;
 * granules that are far apart may have one lock.
 *
 * A lock counts how often it was held: who finds it free, reads, and finds it as it was has seen what
 * stands together, and has written nothing.
 */
#ifndef COMM_EXACT_LOCK_H
#define COMM_EXACT_LOCK_H

#include <stdint.h>

#include "shadow.h"

#pragma GCC visibility push(hidden)

/* Of a lock: who holds it, 0: nobody; and how often it was given back. */
enum { COMM_LOCKS = 1 << 14, COMM_LOCK_OWNER = UINT16_MAX };

extern uint64_t *comm_locks;

/* 0 or -errno. */
int comm_locks_init(void);

/* NULL: go on without. */
uint64_t *comm_lock_wait(uint64_t *lock, uint16_t owner);

/*
 * Gives way to whom the caller waits for, at first only if there is no other CPU for it.  turn: how often it
 * has already.  Returns 0 after some ten seconds: what was waited for was killed in between.
 */
int comm_give_way(unsigned int turn);

static inline uint64_t *comm_lock_of(uint64_t addr)
{
	return &comm_locks[(comm_shadow_bits(addr & ~comm_shadow_mask) >> comm_shadow_shift) %
			   COMM_LOCKS];
}

static inline int comm_lock_is_free(uint64_t lock)
{
	return !(lock & COMM_LOCK_OWNER);
}

/* owner: not 0, another one for each thread.  What is returned goes to comm_lock_end(). */
static inline uint64_t *comm_lock_begin(uint64_t addr, uint16_t owner)
{
	uint64_t *lock = comm_lock_of(addr), old = __atomic_load_n(lock, __ATOMIC_RELAXED);

	if (__builtin_expect(comm_lock_is_free(old) && __atomic_compare_exchange_n(
							       lock, &old, old | owner, 0,
							       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED),
			     1))
		return lock;
	return comm_lock_wait(lock, owner);
}

static inline void comm_lock_end(uint64_t *lock)
{
	if (lock)
		__atomic_store_n(lock, (*lock | COMM_LOCK_OWNER) + 1, __ATOMIC_RELEASE);
}

#pragma GCC visibility pop

#endif
