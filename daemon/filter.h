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

#include "seccomp_list.h"

/* Of all runs, and of those that do more. */
extern const struct comm_seccomp_list comm_filter;
extern const struct comm_seccomp_list comm_filter_events; /* opens an event for each new thread */
extern const struct comm_seccomp_list comm_filter_files;  /* opens files that a perf.data names */

#endif
