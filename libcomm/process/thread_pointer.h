/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread pointer of another process's thread (FS base), from which its thread-local variables are
 * found.  No call tells it but to a debugger that stops the thread.  glibc keeps the list of robust mutexes, which the
 * kernel tells (get_robust_list(2)), in the block that the pointer leads to, and that begins with its
 * own address twice: so it is looked for in front of the list.  Other C libraries have no such list
 * before a thread locks such a mutex.
 *
 * The memory is the target's, and may be anything: what comes back only says where to look.
 */
#ifndef COMM_THREAD_POINTER_H
#define COMM_THREAD_POINTER_H

#include "marks.h"

/* robust_list: its address in the memory.  -ENOENT: no such block is there. */
int comm_thread_pointer_find(const struct comm_marks_memory *memory, uint64_t robust_list,
			     uint64_t *ret);

#endif
