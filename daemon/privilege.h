/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root is for setting up.  Once the events, or the file to read, are open no capability is left, the bounding set is
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
 * with hidepid=ptraceable, where with any other hidepid this process joins the group that sees
 * all.  CAP_SYS_PTRACE is kept for them.
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
 * While files are made in a directory of the user that this process became: that user may change
 * it meanwhile, and its files are made with that user's rights alone.  Nothing is done as user 0.
 * 0 or -errno.
 */
int comm_privilege_set_aside(bool aside);

/* What is still to be done, and decides what may be. */
enum comm_privilege_rest {
	COMM_REST_CPUS,	       /* a live run: all events are open */
	COMM_REST_THREADS,     /* a live run that opens an event for each new thread */
	COMM_REST_FILE,	       /* a recording is read, which is open */
	COMM_REST_NAMED_FILES, /* a perf.data is, and files that it names */
	/*
	 * The result of the exact source is: by who had the rights of this user while it wrote
	 * it, so that only the capabilities go.
	 */
	COMM_REST_RESULT,
};

/*
 * For good.  last, unless NULL, is called when all rights are gone but no system call is refused yet: threads that it
 * starts are refused the same.  0, or -errno with a sentence on stderr.
 */
int comm_privilege_drop(const char *store_path, enum comm_privilege_rest rest,
			int (*last)(void *ctx), void *ctx);

#endif
