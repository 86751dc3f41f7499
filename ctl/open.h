/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which store a command reads. */
#ifndef CTL_OPEN_H
#define CTL_OPEN_H

#include <comm/comm.h>

#define CTL_STORE_HERE "comm.db"
#define CTL_STORE_SERVICE "/var/lib/commprof/comm.db"

/* path NULL: the default store.  Returns an exit code, on failure with a sentence on stderr. */
int ctl_open(const char *path, struct comm_reader **ret, const char **ret_path);

#endif
