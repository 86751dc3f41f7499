/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shadow: one cell for each granule of the program's memory, found by
 * arithmetic alone: the lower 42 bits of an address choose the cell.  They tell the program (0x55..)
 * from its libraries and mappings (0x7f..), which comm_shadow_init() makes sure of.  The shadow stands at
 * one place in every process: far from both, lest it push mappings to where they share cells.
 *
 * A cell is one word, read and written at once: who wrote the granule, in which epoch, and which threads
 * have read it since: a set by number (readers.h).  Where there are more sets than numbers, it stands
 * in another array, which is touched only then.
 *
 * Plain accesses take no lock: a program without data races orders them itself.  Atomic operations do (lock.h).
 */
#ifndef COMM_EXACT_SHADOW_H
#define COMM_EXACT_SHADOW_H

#include <stddef.h>
#include <stdint.h>

/* Reached without a detour, also by position-independent code. */
#pragma GCC visibility push(hidden)

/*
 * Of a cell: the epoch that it was written in (epoch.h); who has read it since but the
 * writer; and the writer, 0: nobody.
 */
enum {
	COMM_SITE_BITS = 20,
	COMM_CELL_SEEN_SHIFT = 16,   /* a set's number, or one of the two below */
	COMM_CELL_WRITER_SHIFT = 32, /* thread slot << COMM_SITE_BITS | site */
	COMM_SHADOW_BITS = 42,
	COMM_SHADOW_BACKING_PAGES = 1 << 27, /* of the program's memory */
};

#define COMM_CELL_SEEN ((uint64_t)0xffff << COMM_CELL_SEEN_SHIFT)
/* A set that has no number: see comm_cell_readers(). */
#define COMM_CELL_MANY ((uint64_t)0x4000 << COMM_CELL_SEEN_SHIFT)
/* With a slot: that thread is making such a set. */
#define COMM_CELL_BUSY ((uint64_t)0x8000 << COMM_CELL_SEEN_SHIFT)

/* Room for a granularity of 1 at each. */
#define COMM_SHADOW_CELLS ((uint64_t)1 << 44)
#define COMM_SHADOW_READERS (COMM_SHADOW_CELLS + ((uint64_t)1 << 45))
/* Cells of what is mapped more than once (../backing.h), and behind it as much again: their readers. */
#define COMM_SHADOW_BACKING (COMM_SHADOW_CELLS / 2)
#define COMM_SHADOW_BACKING_READERS (COMM_SHADOW_BACKING + ((uint64_t)1 << 42))

extern uint64_t comm_shadow_mask; /* the granularity less 1 */
/*
 * log2 of how many bytes there is a cell for: granules of more than eight bytes use one cell in several, so
 * that a page's cells are whole pages, which can be cleared and shared.
 */
extern unsigned int comm_shadow_shift;

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
	return addr & (((uint64_t)1 << COMM_SHADOW_BITS) - 1);
}

/*
 * There is a cell for each 1 << shift bytes.  The halves of a page change places: a processor takes a load for
 * one of what it has just stored when the lower 12 bits of their addresses are the same, and waits.  With eight
 * bytes a cell's would be those of what it stands for (1.8 times the time of a factorisation).
 */
static inline uint64_t *comm_cell_by(uint64_t addr, unsigned int shift)
{
	return (uint64_t *)COMM_SHADOW_CELLS + (comm_shadow_bits(addr ^ 0x800) >> shift);
}

static inline uint64_t *comm_cell(uint64_t addr)
{
	return comm_cell_by(addr & ~comm_shadow_mask, comm_shadow_shift);
}

static inline int comm_cell_crossed(uint64_t addr, uint64_t len_bytes)
{
	return (addr & comm_shadow_mask) + len_bytes - 1 > comm_shadow_mask;
}

/* Bits of comm_readers_bit().  They say something of a cell with COMM_CELL_MANY only. */
static inline uint64_t *comm_cell_readers(uint64_t *cell)
{
	return (uint64_t *)((uint64_t)cell + (COMM_SHADOW_READERS - COMM_SHADOW_CELLS));
}

/* Of a cell with none of the two flags. */
static inline uint32_t comm_cell_set(uint64_t cell)
{
	return (cell & COMM_CELL_SEEN) >> COMM_CELL_SEEN_SHIFT;
}

/*
 * Notes that the thread has read the cell, which was as *was says and not been written by the thread itself.
 * Returns whether it has not read it before.  *was becomes what was there just before, *ret_now what is
 * there since: the same, where nothing had to be noted in the cell.
 */
int comm_cell_first_read(uint64_t *cell, uint64_t *was, uint64_t *ret_now, uint32_t slot);

#pragma GCC visibility pop

#endif
