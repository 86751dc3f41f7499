/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files a run may use, by Landlock: it reads and writes the store and its log, and reads
 * beneath /proc and /sys; all others, and the network, are out of reach, whoever the user is.  What is open already stays so: rings, the store, a recording.
 *
 * A process in here may look at no process outside, so it can neither read mappings and memory of
 * targets nor open events of their threads: another process does the one (peek.h).
 */
#ifndef COMMD_FENCE_H
#define COMMD_FENCE_H

#include <stdbool.h>

/* The version of the kernel's Landlock; 0: it has none, or it is switched off. */
int comm_fence_version(void);
/*
 * For this process and its future children, for good.  The store is open, with its log.  Needs no_new_privs.  0, also without
 * Landlock, or -errno.  reads_all: any file may be read.
 */
int comm_fence_close(const char *store_path, bool reads_all);
/* The same of a process that uses no file. */
int comm_fence_all(void);
/* The same of the remover (remover.h): it removes files from that directory, and does nothing else. */
int comm_fence_remover(const char *directory);

#endif
