/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root is for setting up.  Once the events are open only CAP_SYS_PTRACE, for targets'
 * mappings and memory, and CAP_DAC_READ_SEARCH, for /proc/PID/mem, are kept; the bounding set
 * is empty, and a seccomp filter (filter.h) lets pass what a run needs.  Files of targets are
 * opened by another process, which was forked before (parse_host.h).
 *
 * Under sudo the process also becomes the invoking user, who then owns the store and can read
 * it; otherwise user commprof, where the package has made one that may write the store's
 * directory.  Root's files it may still write if neither is so: no filter tells paths apart,
 * and Landlock, which does, forbids to look at any process outside of its own domain.
 */
#ifndef COMMD_PRIVILEGE_H
#define COMMD_PRIVILEGE_H

#include <stdbool.h>

/*
 * Call before the store is made: from here on files belong to the other user, if that user
 * may write where the store shall be.  service: not for a command, which runs as who
 * started commd.  0 or -errno.
 */
int comm_privilege_become_user(const char *store_path, bool service);
/* Call once all events are open.  0 or -errno. */
int comm_privilege_drop(void);

#endif
