/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process that reads the DWARF of one file while its parent goes on
 * without waiting.  Whatever a hostile file does to libdw happens to a process
 * that has no rights, no open file but this one, little memory and the lowest
 * priority.
 *
 * The result goes through a memory file, not a pipe: the child never has to
 * wait for a reader.  The thread that starts a job must outlive it: the child
 * dies with that thread (PR_SET_PDEATHSIG).
 */
#ifndef COMM_DWJOB_H
#define COMM_DWJOB_H

#include "dwline.h"

struct comm_dwjob;

/*
 * Starts a child for the ELF file fd, which can be closed afterwards.  cpu_ms: limit of
 * CPU time for the walk of the DWARF; far beyond, in CPU or in real time, the child
 * is killed.
 */
int comm_dwjob_start(int fd, unsigned int cpu_ms, struct comm_dwjob **ret);
/*
 * Never blocks.  -EAGAIN: still at work; 0: *ret is the caller's; -ENODATA: no
 * usable DWARF; -ETIME: the child hung.  Call again only after -EAGAIN.
 */
int comm_dwjob_poll(struct comm_dwjob *job, struct comm_dwline **ret);
/* CPU time of the child; 0 before it ended. */
uint64_t comm_dwjob_cpu_ns(const struct comm_dwjob *job);
/* Kills the child if it is still at work. */
void comm_dwjob_destroy(struct comm_dwjob *job);

#endif
