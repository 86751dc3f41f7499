/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which capabilities a process of commprof goes on with. */
#ifndef COMM_RIGHTS_H
#define COMM_RIGHTS_H

#include <stddef.h>

/*
 * Empties the bounding set, so that no program that this process may come to run gets a capability:
 * for a process with CAP_SETPCAP; any other has no means to.  0 or -errno.
 */
int comm_rights_bound(void);
/*
 * Empties the bounding set and drops all capabilities of the calling thread but those n (CAP_*), as far as
 * they are permitted.  Returns 0 or -errno: then all are as they were.
 */
int comm_rights_keep(const int *kept, size_t n);
/* Likewise, and the process becomes nobody, if it may: without CAP_SETUID it keeps its user id. */
int comm_rights_as_nobody(const int *kept, size_t n);

#endif
