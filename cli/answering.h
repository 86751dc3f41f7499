/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the file system of a file answers, asked by another process: who asks one that does not (FUSE or NFS without a
 * server) may wait for good, and no signal ends that.  While the caller has one thread.
 */
#ifndef CLI_ANSWERING_H
#define CLI_ANSWERING_H

#include <stdbool.h>

/*
 * False: something that was asked has had no answer for 20 s, and the process that asked is left to the kernel.  True: all
 * has; *ret_slow_ms is how long that took together if it was 2 s or more, else 0.
 */
bool comm_answering(const char *path, int *ret_slow_ms);

#endif
