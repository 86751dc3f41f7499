/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program on disk that an exact run is to run: where it is, what it carries. */
#ifndef COMMD_PROGRAM_H
#define COMMD_PROGRAM_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As execvp() looks for it.  ret has PATH_MAX bytes.  -ENOENT, -EACCES. */
int comm_program_find(const char *name, char *ret);
/* A file that can be executed: 0, else -errno. */
int comm_program_check(const char *path);

/*
 * Whether it is linked with libcomm-exact, and so counts by itself.  *ret_version
 * is that of the result file it writes.
 */
bool comm_program_counts(const char *path, uint32_t *ret_version);

/*
 * Starts it with that signal mask, SIGINT, SIGTERM and SIGHUP having their
 * usual effect.  0 or -errno.
 */
int comm_program_spawn(const char *path, char *const *argv, const sigset_t *signals, pid_t *ret);

#endif
