/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks: where a process keeps the regions that its threads are in (<comm/mark.h>).  An ELF note
 * of a module leads to a record in the module's memory, and that to the place, which is as far
 * from the thread pointer in all threads.  All of it is read from the process's memory, and
 * may be anything: what comes back is a distance, which only says where to look.
 */
#ifndef COMM_MARKS_H
#define COMM_MARKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
/*
 * *ret: the distance from a thread's pointer to its regions.  -EAGAIN: the module has not been
 * initialised; -EPROTO: it is of another version, or damaged.
 */
int comm_marks_stack(const struct comm_marks_memory *memory, uint64_t record, int64_t *ret);

#endif
