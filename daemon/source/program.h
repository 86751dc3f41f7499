/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable of an exact run: its path, and whether it is linked with libcomm-exact. */
#ifndef COMMD_PROGRAM_H
#define COMMD_PROGRAM_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Looks for name like execvp().  ret has PATH_MAX bytes.  -ENOENT, -EACCES. */
int comm_program_find(const char *name, char *ret);
/* 0 if path is a file that can be executed, else -errno. */
int comm_program_check(const char *path);

/*
 * Whether it is linked with libcomm-exact, and so counts by itself.  *ret_version is
 * the version of the result file it writes.
 */
bool comm_program_counts(const char *path, uint32_t *ret_version);

/*
 * Starts path with the signal mask signals; SIGINT, SIGTERM and SIGHUP have their
 * default action.  0 or -errno.
 */
int comm_program_spawn(const char *path, char *const *argv, const sigset_t *signals, pid_t *ret);

#endif
