/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocators whose blocks are told apart: how each is read is a file of its own, and a line in the
 * table.  Its tables are read from the target's memory while the target uses them, and may be anything:
 * what comes back is only ever said of addresses, never followed by anyone, and heap_blocks.h believes a
 * block that two readings agree on.
 *
 * Memory is looked at in pieces, aligned to their size.  A block belongs to the piece that its first
 * byte is in.
 */
#ifndef COMM_ALLOCATOR_H
#define COMM_ALLOCATOR_H

#include "heap_blocks.h"

/* What was read of the memory last. */
struct comm_seen {
	uint64_t start;
	size_t n;
	uint8_t bytes[5 * COMM_PIECE_BYTES + 8192];
};

struct comm_block_list {
	struct comm_block block[COMM_PIECE_BLOCKS]; /* in order of addresses */
	size_t n;
	struct comm_seen *seen; /* for what an allocator reads of blocks on its way; n 0: nothing */
};

struct comm_allocator_ops {
	/*
	 * What is opened of this allocator's for an address, told apart by its start: memory that blocks
	 * are cut from, as large as it is now, or its tables.  false: there is none.
	 */
	bool (*range)(const struct comm_heap_place *place, struct comm_range *ret);
	/* -ENOENT: what is there is not this allocator's.  *ret is given back by close(). */
	int (*open)(const struct comm_marks_memory *memory, const struct comm_heap_place *place,
		    const struct comm_range *area, void **ret);
	void (*close)(void *state);
	size_t (*state_bytes)(const void *state); /* of memory that it takes now */
	/*
	 * Goes on until it is known which block is at the start of a piece.  0: it is: *ret
	 * is the address of a block that began before it, 0: there is none.  -EAGAIN: that was one step,
	 * at most a few reads; -ENOENT: there are no blocks in this piece; -ENODATA: it is another
	 * allocator's, if anyone's; -EPROTO: the memory contradicts itself, or changed on the way.
	 */
	int (*enter)(void *state, const struct comm_marks_memory *memory,
		     const struct comm_range *area, uint64_t piece, uint64_t *ret);
	/*
	 * The blocks of a piece that was entered; errors are those of enter().  is_far: checked by what lies
	 * farther in front of it, too, which takes twice as long.
	 */
	int (*read)(void *state, const struct comm_marks_memory *memory,
		    const struct comm_range *area, uint64_t piece, bool is_far,
		    struct comm_block_list *ret);
	/*
	 * Who asked for the block that begins at an address, where the allocator keeps a profile of its
	 * own; since_ns is when, until_ns is left to the caller.  -ENOENT: it does not say; the others
	 * are those of enter().  NULL: it never does.
	 */
	int (*site)(void *state, const struct comm_marks_memory *memory, uint64_t start,
		    struct comm_allocation *ret);
};

extern const struct comm_allocator_ops comm_glibc_heap, comm_glibc_arena, comm_glibc_mapped,
	comm_jemalloc, comm_pymalloc;

static const struct comm_allocator_ops *const comm_allocators[] = {
	&comm_glibc_heap, &comm_jemalloc, &comm_pymalloc, &comm_glibc_arena, &comm_glibc_mapped,
};

enum { COMM_ALLOCATORS = sizeof(comm_allocators) / sizeof(*comm_allocators) };

#endif
