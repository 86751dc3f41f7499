/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root is for setting up.  Once the events are open no capability is left, the bounding set is
 * empty, a seccomp filter (filter.h) lets pass what a run needs, and Landlock (fence.h) leaves the
 * store's directory to write to.  Files, mappings and memory of targets are read by other
 * processes, which were forked before (parse_host.h, peek.h).
 *
 * Under sudo the process also becomes the invoking user, who then owns the store and can read
 * it; otherwise user commprof, where the package has made one that may write the store's
 * directory; otherwise, where root without capabilities may not write there, whose directory it
 * is.  Else it stays user 0: SQLite makes and removes files beside the store until the end.
 *
 * Two things need more, and then there is no fence, as who is inside may look at no process
 * outside: events of single threads (perf without the right to sample CPUs), and a /proc mounted
 * with hidepid.  CAP_SYS_PTRACE is kept for them.
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
/*
 * Call once all events are open; opens_threads: but for those of threads that come.  0 or
 * -errno.
 */
int comm_privilege_drop(const char *store_path, bool opens_threads);

#endif
