/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns on a CPU.  Where very many threads want to run, a process as good as any other waits
 * seconds for each turn: to attach to 2,000 busy threads took minutes.  What this process
 * takes is bounded by its budget, so there it asks for the highest priority.
 */
#ifndef COMMD_PRIORITY_H
#define COMMD_PRIORITY_H

/* Of this process and those that it forks from now on, where it is needed and permitted. */
void comm_priority_raise(void);
/* In a child that runs somebody else's program: as it was. */
void comm_priority_restore(void);

#endif
