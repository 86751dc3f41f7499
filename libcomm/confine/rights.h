/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which capabilities a process of commprof goes on with. */
#ifndef COMM_RIGHTS_H
#define COMM_RIGHTS_H

#include <stddef.h>

/*
 * Drops all capabilities of the calling thread but those n (CAP_*), as far as
 * they are permitted.  Returns 0 or -errno: then all are as they were.
 */
int comm_rights_keep(const int *kept, size_t n);

#endif
