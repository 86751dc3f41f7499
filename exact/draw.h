/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draws accesses of an exact run as a memory PMU samples them: of loads and of stores one in so many each, with their
 * instruction and address.  So what an estimator makes of precise samples has the truth of the same run beside it.
 *
 * Writes lines of text, in the order of time:
 *	map TIME_NS PID START END PROT PRIVATE OFFSET DEV INODE PATH
 *	load|store TIME_NS PID TID IP ADDRESS BYTES
 *	thread PID TID NAME		(at the end)
 * Numbers are hexadecimal; PROT as in mmap(); a path is empty where there is no file.  Time is the clock that ages are
 * measured by (trace.h).  What system calls read and write is not drawn, and nothing of a child of fork().
 */
#ifndef COMM_EXACT_DRAW_H
#define COMM_EXACT_DRAW_H

#include "pub_tool_basics.h"

struct comm_vg_thread;

/* path: as of the result file.  period: one access in so many, on average. */
void comm_draw_init(const HChar *path, UInt period);
/* How many accesses from here on the next is drawn. */
UInt comm_draw_distance(void);
void comm_draw_access(const struct comm_vg_thread *thread, Bool store, ULong time_ns, Addr ip,
		      Addr addr, UInt bytes);
/* The address space is another one from here on. */
void comm_draw_mapped(void);
void comm_draw_thread(const struct comm_vg_thread *thread);
void comm_draw_forked(void);
void comm_draw_finish(void);

#endif
