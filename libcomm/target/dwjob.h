/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process that reads the DWARF of one file while its parent goes on:
 * nobody waits for it, and whatever a hostile file does to libdw happens to a
 * process of nobody's that has no rights, no open file but this one, little
 * memory to take and the lowest priority.
 *
 * The result goes through a memory file, not a pipe: the child never has to
 * wait for a reader.  The thread that starts a job must live as long as it.
 */
#ifndef COMM_DWJOB_H
#define COMM_DWJOB_H

#include "dwline.h"

struct comm_dwjob;

/*
 * cpu_ms: most CPU time that the walk may take; far beyond, in CPU or in real
 * time, the child is killed.  fd can be closed after.
 */
int comm_dwjob_start(int fd, unsigned int cpu_ms, struct comm_dwjob **ret);
/*
 * Never blocks.  -EAGAIN: still at work; 0: *ret is the caller's; -ENODATA: no
 * usable DWARF; -ETIME: the child hung.  Not to be asked again unless -EAGAIN.
 */
int comm_dwjob_poll(struct comm_dwjob *job, struct comm_dwline **ret);
/* CPU time of the child; 0 before it ended. */
uint64_t comm_dwjob_cpu_ns(const struct comm_dwjob *job);
/* Kills the child if it is at work still. */
void comm_dwjob_destroy(struct comm_dwjob *job);

#endif
