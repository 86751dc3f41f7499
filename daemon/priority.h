/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns on a CPU.  Where very many threads want to run, a process as good as any other waits
 * seconds for each turn: to attach to 2,000 busy threads took minutes.  What this process
 * takes is bounded by its budget, so there it asks for the highest priority.
 *
 * Where CPUs are idle it yields instead: whatever else wants to run has its CPU at once (SCHED_IDLE, sched(7)), so that a
 * request that comes while this process works does not wait for it.
 */
#ifndef COMMD_PRIORITY_H
#define COMMD_PRIORITY_H

#include <stdbool.h>

/* Of this process and those that it forks from now on, where it is needed and permitted. */
void comm_priority_raise(void);
/* In a child that runs somebody else's program: as it was. */
void comm_priority_restore(void);

/*
 * While privileges are there: permits this process to come back from yielding, by RLIMIT_NICE.  Where that may not be
 * raised (CAP_SYS_RESOURCE), a process of ours that keeps CAP_SYS_NICE brings it back.  Where neither is permitted it
 * never yields, but for one that was started so (chrt -i 0 commd), which always does.
 */
void comm_priority_allow_return(void);
/* Of this thread, as often as wanted; whether it yields now. */
bool comm_priority_yield(bool wanted);
/* Its process ends, and this one yields no more.  Where it may stay for long, as its store does not answer. */
void comm_priority_leave(void);

#endif
