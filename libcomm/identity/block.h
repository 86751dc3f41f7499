/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heap blocks: which object stands for the block that was read, in place of the heap that it
 * lies in.  All blocks of a process that may have been asked for by one size are one such object, and
 * larger ones are in classes, four to a doubling; blocks of LARGE_BYTES and more are told apart by their
 * size, if their allocator knows it to a page.  But those whose process tells where they were
 * allocated are one such object per place (allocation.h).  Estimators know nothing of it: for them
 * it is all the heap.
 *
 * A heap whose allocator is not known is an object that says so.  One thread uses it.
 */
#ifndef COMM_IDENTITY_BLOCK_H
#define COMM_IDENTITY_BLOCK_H

#include "object.h"
#include "site.h"

struct comm_block_objects;

int comm_block_objects_create(const struct comm_inspect *inspect, struct comm_sites *sites,
			      struct comm_objects *objects, struct comm_block_objects **ret);
void comm_block_objects_destroy(struct comm_block_objects *blocks);
/*
 * The object of the block at addr, which lies in object as that datum; COMM_ID_OTHER: there is none, or it is
 * not known.  *ret_unread: it may be in one, but nobody has read which.
 */
uint32_t comm_block_objects_at(struct comm_block_objects *blocks, struct comm_space *space,
			       uint64_t addr, uint64_t datum, uint32_t object, uint64_t now_ns,
			       bool *ret_unread);

/* Of blocks that have size_bytes for at least least_bytes asked for: "heap blocks of 57 to 72 B". */
enum { COMM_BLOCK_NAME_BYTES = 48 };
void comm_block_name(const struct comm_block *block, char name[COMM_BLOCK_NAME_BYTES]);

#endif
