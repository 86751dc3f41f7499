/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heap blocks: which object stands for the block that was read, in place of the heap that it
 * lies in.  All blocks of a process that may have been asked for by one size are one such object, and
 * larger ones are in classes, four to a doubling; blocks of LARGE_BYTES and more are told apart by their
 * size, if their allocator knows it to a page.  But those whose process tells where they were
 * allocated are one such object per place (allocation.h), and those that say what they are, one per
 * class.  Estimators know nothing of these objects: for them it is all the heap.
 *
 * Shared memory without a lasting file has parts (shared_parts.h), which are "*" and the name of the static variable
 * that leads to one: the same object for all processes.
 *
 * Blocks of LARGE_BYTES and more of one process have numbers, too, by which estimators tell them
 * apart: such a block has a use of its own, whatever lies beside it in the heap, and one of the same
 * size may be another thread's.
 *
 * A heap whose allocator is not known is an object that says so.  One thread uses it.
 */
#ifndef COMM_IDENTITY_BLOCK_H
#define COMM_IDENTITY_BLOCK_H

#include "names.h"
#include "object.h"
#include "site.h"

struct comm_block_objects;

int comm_block_objects_create(const struct comm_inspect *inspect, struct comm_sites *sites,
			      struct comm_objects *objects, struct comm_block_objects **ret);
void comm_block_objects_destroy(struct comm_block_objects *blocks);
struct comm_block_object {
	uint32_t id;	   /* COMM_ID_OTHER: there is none, or it is not known */
	bool unread;	   /* there may be one, but nobody has read which */
	const char *class; /* of what is in the block, NULL: not known */
	uint64_t start;	   /* where that begins: an address */
};

/* The object of the block at addr, which lies in object as that datum.  Its texts live as long as blocks. */
struct comm_block_object comm_block_objects_at(struct comm_block_objects *blocks,
					       struct comm_space *space, uint64_t addr,
					       uint64_t datum, uint32_t object, uint64_t now_ns);

/* What an allocator keeps in its heaps, object or another one, is an object of its own. */
uint32_t comm_block_objects_lists(struct comm_block_objects *blocks, uint32_t object);

/* The number of the large block at addr, by what comm_block_objects_at() last met there; 0: none. */
uint32_t comm_block_objects_large(const struct comm_block_objects *blocks, uint32_t tgid,
				  uint64_t addr);

/*
 * Of blocks of a class: "Order (heap blocks)"; of others that have size_bytes for at least least_bytes asked
 * for: "heap blocks of 57 to 72 B".
 */
enum { COMM_BLOCK_NAME_BYTES = COMM_NAME_BYTES };
void comm_block_name(const struct comm_block *block, char name[COMM_BLOCK_NAME_BYTES]);

#endif
