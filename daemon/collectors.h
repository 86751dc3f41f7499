/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collectors: libraries that programs load when the environment names them.  One (collect/) hears of marks of
 * other conventions, OpenMP's tools interface, ITT and NVTX; one (alloc/) tells where memory was allocated.
 * commd names them to the command it starts; a process that runs already is past that.
 */
#ifndef COMMD_COLLECTORS_H
#define COMMD_COLLECTORS_H

#include <limits.h>
#include <stdbool.h>

/* Paths of those that the command is to load; "": not that one. */
struct comm_collectors {
	char marks[PATH_MAX], allocations[PATH_MAX];
};

/* Where they are; false: that one is not installed beside commd, and its path is "". */
bool comm_collectors_find_marks(struct comm_collectors *ret);
bool comm_collectors_find_allocations(struct comm_collectors *ret);
/*
 * In a child before its exec(): names them in the environment.  Where something is named already, that of marks
 * is not, and that of allocations goes before it.
 */
void comm_collectors_name(const struct comm_collectors *collectors);

#endif
