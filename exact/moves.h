/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that move data of a descriptor: from and to which channel, and who wrote what comes out of it (transit.h).
 * Each of Valgrind's thread slots is in one at most.  One thread at a time.
 */
#ifndef COMM_EXACT_MOVES_H
#define COMM_EXACT_MOVES_H

#include "pub_tool_basics.h"

#include "channel.h"

struct comm_trace;

void comm_moves_init(struct comm_trace *trace);
/* thread: by its number in the trace. */
void comm_moves_begin(ThreadId slot, UInt thread, UInt syscall, const UWord *args);
/* When the kernel has written what it has. */
void comm_moves_end(ThreadId slot, UInt thread, UInt syscall, const UWord *args, SysRes result);
/* That which the call at hand moves data of. */
enum comm_channel comm_moves_channel(ThreadId slot);
/* In a child of fork(). */
void comm_moves_forked(void);

#endif
