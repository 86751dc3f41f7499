/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinnings: a plan as commands for a shell, to stdout.  Nothing in them but numbers comes from a
 * store, for they are run by root; names stand in comments, cleaned (utf8.h).
 */
#ifndef CTL_PINNING_H
#define CTL_PINNING_H

#include "placing.h"

/*
 * "taskset": a line for each thread; "cpuset": control groups (version 2) for its process's
 * threads; "numactl": what to begin each process's command with, and why not where
 * numactl cannot, since it places whole processes.
 */
typedef void ctl_pinning(const struct ctl_placing *placing, const struct ctl_cut_plan *plan,
			 const struct ctl_parts *parts);

/* NULL: no such form. */
ctl_pinning *ctl_pinning_find(const char *name);

/* The CPUs of a vertex's part, or of all parts used where the plan leaves it free. */
struct ctl_cpus ctl_pinning_cpus(const struct ctl_cut_plan *plan, const struct ctl_parts *parts,
				 size_t vertex);

#endif
