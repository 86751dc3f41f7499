/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collectors: a library (collect/) that programs with marks of other conventions, OpenMP's
 * tools interface, ITT and NVTX, load when the environment names it.  commd names it to the
 * command it starts; a process that runs already is past that.
 */
#ifndef COMMD_COLLECTORS_H
#define COMMD_COLLECTORS_H

#include <stdbool.h>

/* Where the library is; ret has PATH_MAX bytes.  False: it is not installed beside commd. */
bool comm_collectors_find(char *ret);
/* In a child before its exec(): names it in the environment, where nothing else is named. */
void comm_collectors_name(const char *path);

#endif
