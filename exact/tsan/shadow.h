/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shadow: one cell for each granule of the program's memory, found by
 * arithmetic alone.  42 bits of an address choose the cell: the lower 41, and
 * bit 45, which tells the program (0x55..) from its libraries and mappings
 * (0x7f..).  comm_shadow_init() sees to it that no two mappings share a cell.
 *
 * A cell holds the last writer and the set of threads that have read the
 * granule since.  Plain accesses take no lock: a program without data races
 * orders them itself.  Atomic operations hold the cell's lock around both the
 * operation and its bookkeeping, so that the two cannot come apart.
 */
#ifndef COMM_EXACT_SHADOW_H
#define COMM_EXACT_SHADOW_H

#include <stddef.h>
#include <stdint.h>

/* Reached without a detour, also by position-independent code. */
#pragma GCC visibility push(hidden)

struct comm_cell {
	uint32_t writer; /* thread slot << COMM_SITE_BITS | site; 0: nobody */
	uint16_t lock;
	uint16_t frame; /* in which it was written: comm_exact_frame_now then */
	uint64_t seen;	/* bit slot % 64: has read it since the last write */
};

_Static_assert(sizeof(struct comm_cell) == 16, "the shadow's size depends on it");

enum { COMM_SITE_BITS = 20, COMM_SHADOW_LOW_BITS = 41 };

extern struct comm_cell *comm_shadow;
extern unsigned int comm_shadow_shift; /* log2 of the granularity, */
extern uint64_t comm_shadow_mask;      /* and the granularity less 1 */

/* Exits with a sentence when the address space does not allow it. */
void comm_shadow_init(void);

/* The mapping is new or gone: nobody has written there. */
void comm_shadow_clear(uint64_t addr, size_t len_bytes);
/* Memory that children of fork() will share: so will its cells. */
void comm_shadow_share(uint64_t addr, size_t len_bytes);
/* The kernel moved memory without an access. */
void comm_shadow_move(uint64_t from, uint64_t to, size_t len_bytes);

/* Those of an address that choose a cell. */
static inline uint64_t comm_shadow_bits(uint64_t addr)
{
	const uint64_t low = ((uint64_t)1 << COMM_SHADOW_LOW_BITS) - 1;

	return (addr & low) | (addr >> 4 & (low + 1));
}

static inline struct comm_cell *comm_cell(uint64_t addr)
{
	return comm_shadow + (comm_shadow_bits(addr) >> comm_shadow_shift);
}

static inline int comm_cell_crossed(uint64_t addr, uint64_t len_bytes)
{
	return (addr & comm_shadow_mask) + len_bytes - 1 > comm_shadow_mask;
}

/* Returns 0 when the caller need not unlock. */
int comm_cell_wait(struct comm_cell *cell, uint16_t owner);

/* owner: not 0, another one for each thread. */
static inline int comm_cell_lock(struct comm_cell *cell, uint16_t owner)
{
	uint16_t old = 0;

	if (__builtin_expect(__atomic_compare_exchange_n(&cell->lock, &old, owner, 0,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED),
			     1))
		return 1;
	return comm_cell_wait(cell, owner);
}

static inline void comm_cell_unlock(struct comm_cell *cell)
{
	__atomic_store_n(&cell->lock, 0, __ATOMIC_RELEASE);
}

#pragma GCC visibility pop

#endif
