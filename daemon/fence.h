/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files a run may use, by Landlock: beneath the directory of the store it reads and writes,
 * beneath /proc and /sys it reads; all others, and the network, are out of reach, whoever the
 * user is.  What is open already stays so: rings, the store, a recording.
 *
 * A process in here may look at no process outside, so it can neither read mappings and memory of
 * targets nor open events of their threads: another process does the one (peek.h).
 */
#ifndef COMMD_FENCE_H
#define COMMD_FENCE_H

/* The version of the kernel's Landlock; 0: it has none, or it is switched off. */
int comm_fence_version(void);
/*
 * For this process and its future children, for good.  Needs no_new_privs.  0, also without
 * Landlock, or -errno.
 */
int comm_fence_close(const char *store_path);

#endif
