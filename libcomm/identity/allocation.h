/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations: which object stands for a block of which the process tells where it was allocated: all blocks of a
 * place in the code, "table.c:42 (build_table)", or "build_table (prog)" without lines.  That place is the
 * innermost caller that does not allocate for others in its turn, by its name: its frames are found in the words of
 * the stack that the process gave.  Who left none, since it ended in a jump, is found where it was called: a
 * call says where it leads.  They are as hostile as all that is told.  One thread uses it.
 */
#ifndef COMM_IDENTITY_ALLOCATION_H
#define COMM_IDENTITY_ALLOCATION_H

#include "object.h"
#include "site.h"

struct comm_allocations;

/* The object of a block, which is known from then up to until_ns. */
struct comm_allocated {
	uint64_t start, end;
	uint64_t until_ns;
	uint32_t object;
};

int comm_allocations_create(const struct comm_inspect *inspect, struct comm_sites *sites,
			    struct comm_objects *objects, struct comm_allocations **ret);
void comm_allocations_destroy(struct comm_allocations *allocations);
/*
 * The block that addr, which is that datum, was in at now_ns.  -ENOENT: none that the process tells of, or
 * nobody knows by whom it was allocated; -EAGAIN: that is not known yet.
 */
int comm_allocations_at(struct comm_allocations *allocations, struct comm_space *space,
			uint64_t addr, uint64_t datum, uint64_t now_ns, struct comm_allocated *ret);
/* Whether a function of that name allocates for its caller: malloc, xmalloc, operator new, strdup. */
bool comm_allocations_is_allocator(const char *function);
/*
 * Whether a function of that name keeps a heap: what it writes into blocks is its own lists, as free() and
 * _int_malloc() do.  Not calloc() and realloc(), which write what the program reads.
 */
bool comm_allocations_keeps_heap(const char *function);

#endif
