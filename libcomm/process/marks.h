/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks: where a process keeps the regions that its threads are in (<comm/mark.h>).  An ELF note
 * of a module leads to a record in the module's memory, and that to the place, which is as far
 * from the thread pointer in all threads.  All of it is read from the process's memory, and
 * may be anything: what comes back only says where to look.
 */
#ifndef COMM_MARKS_H
#define COMM_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct comm_marks_place {
	int64_t stack;	  /* distance from a thread's pointer to its regions */
	uint64_t process; /* address of what all threads have together; 0: nothing */
	bool counts;	  /* its regions count how often they began (struct comm_mark_stack) */
};

enum { COMM_MARKED_OBJECTS_MAX = 64 };

/* The memory that a process gave names of their own; size_bytes 0: none stands here. */
struct comm_marked_objects {
	uint32_t changes; /* grows with each change */
	struct {
		uint64_t start, size_bytes, name;
	} object[COMM_MARKED_OBJECTS_MAX];
};

/* Reads memory of a process; returns how many bytes could be read, or -errno. */
struct comm_marks_memory {
	ssize_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len_bytes);
	void *ctx;
};

/*
 * Looks for the note of the module whose file begins at base.  *ret: address of its record.
 * -ENOENT: it has none; other errors: the memory could not be read.
 */
int comm_marks_find(const struct comm_marks_memory *memory, uint64_t base, uint64_t *ret);
/* The same, of what another type of note leads to. */
int comm_marks_find_note(const struct comm_marks_memory *memory, uint64_t base, uint32_t type,
			 uint64_t *ret);
/*
 * Where its regions are, and its other marks.  -EAGAIN: the module has not been initialised;
 * -EPROTO: it is of another version, or damaged.
 */
int comm_marks_read(const struct comm_marks_memory *memory, uint64_t record,
		    struct comm_marks_place *ret);
/*
 * Reads the named memory of a process into *ret, which was zeroed or read before.  1: it has
 * changed since; 0: it has not.
 */
int comm_marks_objects(const struct comm_marks_memory *memory, uint64_t process,
		       struct comm_marked_objects *ret);

#endif
