/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of a run: a seccomp filter that lets pass what reading targets, storing
 * and ending need, and refuses all else with EPERM.  So whoever takes over the daemon through
 * what it reads of a target cannot start a program, make memory executable, trace or signal a
 * process, change owners and modes, mount, load code into the kernel or reach the network.
 * It cannot tell paths apart: which files may be written is a matter of the user id.
 */
#ifndef COMMD_FILTER_H
#define COMMD_FILTER_H

#include <stdbool.h>

/* Beside what all runs do. */
enum comm_filter_more {
	COMM_FILTER_NO_MORE,
	COMM_FILTER_EVENTS, /* opens an event for each new thread */
	COMM_FILTER_FILES,  /* opens files that a perf.data names */
};

/*
 * For this process and its future children, for good.  Needs no_new_privs.  0, also where the
 * kernel has no such filters, or -errno.
 */
int comm_filter_install(enum comm_filter_more more);
/* Whether a call is let pass, with some arguments at least. */
bool comm_filter_knows(long nr);

#endif
