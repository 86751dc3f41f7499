/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects: the datum and the object that an address of a process means.
 *
 * A datum is a 64-bit name of one byte of physical memory as far as user space
 * can tell: (space id << 48) + offset.  Private memory has a space id per
 * process and its virtual address as offset; a shared mapping has a space id
 * per file and the file offset, so that one page in two address spaces is one
 * datum.
 *
 * Objects: static variables, shared files, heaps, stacks, other mappings.
 * Estimators never spread evidence across objects.  Object 0 is "(other)": new objects
 * after the ids have run out, which are counted.
 * Memory that its process marked with a name is one object per name, whatever it is part of.
 * Anonymous memory that its process named is one object per name, and so are
 * all its unnamed mappings of less than 1 MB; start and size are then of the
 * first piece that was seen.
 */
#ifndef COMM_OBJECT_H
#define COMM_OBJECT_H

#include "ids.h"
#include "space.h"

struct comm_objects;

int comm_objects_create(const struct comm_inspect *inspect, struct comm_objects **ret);
void comm_objects_destroy(struct comm_objects *objects);

/*
 * Resolves one address.  False: it is in no known mapping (count it).  sp is
 * the accessing thread's stack pointer (0: unknown) and tells thread stacks
 * from other anonymous memory.
 */
bool comm_objects_resolve(struct comm_objects *objects, struct comm_space *space, uint64_t addr,
			  uint64_t sp, uint32_t tid, uint64_t now_ns, uint64_t *ret_datum,
			  uint32_t *ret_object);
/*
 * The datum at an address of memory that the process shares with no other, known as a
 * mapping yet or not.  False: it is shared.
 */
bool comm_objects_private(struct comm_objects *objects, struct comm_space *space, uint64_t addr,
			  uint64_t now_ns, uint64_t *ret_datum);
/*
 * From now on these bytes of a process are an object of that name, its slot's before no more;
 * size_bytes 0: none is.  Where slots overlap, the first counts.
 */
void comm_objects_mark(struct comm_objects *objects, uint32_t tgid, uint32_t slot, uint64_t start,
		       uint64_t size_bytes, const char *name);
/*
 * An object of that kind, name and process, made when first asked for; its texts are copied.  Other
 * than those of addresses, it grows by nothing.
 */
uint32_t comm_objects_block(struct comm_objects *objects, const struct comm_object *o);
void comm_objects_drop(struct comm_objects *objects, uint32_t tgid);

/* How often data became "(other)" because the ids had run out. */
uint64_t comm_objects_unfiled(const struct comm_objects *objects);
uint32_t comm_objects_count(const struct comm_objects *objects);
const struct comm_object *comm_objects_at(const struct comm_objects *objects, uint32_t id);

#endif
