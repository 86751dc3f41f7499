/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dense ids for what memory is used for: heap blocks by the place that
 * allocated them, static variables, stacks, files, other mappings.  Heap blocks
 * are entered when allocated, everything else when first read.
 */
#ifndef COMM_EXACT_OBJECT_H
#define COMM_EXACT_OBJECT_H

#include "pub_tool_basics.h"

struct comm_marks_object;
struct comm_shadow;

struct comm_vg_object {
	UInt kind; /* enum comm_object_kind of libcomm/model/ids.h */
	UInt tid;  /* a stack's thread */
	const HChar *name, *module;
	Addr start;
	ULong size_bytes, blocks;
};

void comm_object_init(struct comm_shadow *shadow);
/* What addr belongs to; enters it in the shadow. */
uint32_t comm_object_find(uint64_t addr);
void comm_object_allocated(ThreadId tid, Addr block, SizeT size_bytes, Addr caller);
/* A thread runs on the stack around sp. */
void comm_object_stack(UInt tid, Addr sp);
/* Piece i of what has a name of its own (comm/mark.h); bytes 0: it has that no more.  Both are hostile. */
void comm_object_named(uint32_t i, const struct comm_marks_object *piece);
/* Stacks there are none any more. */
void comm_object_unmapped(Addr start, SizeT bytes);

UInt comm_object_count(void);
const struct comm_vg_object *comm_object_get(UInt id);

#endif
