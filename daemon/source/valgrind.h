/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind, with our tool of exact/: finds both and starts a command under them.
 * exact.c reads the tool's result file.
 */
#ifndef COMMD_VALGRIND_H
#define COMMD_VALGRIND_H

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#include "options.h"

struct comm_valgrind {
	char program[PATH_MAX];
	char tools[PATH_MAX]; /* the directory of the tool */
};

/*
 * Valgrind from the PATH; the tool from $COMMPROF_EXACT, or beside commd where
 * it was built or installed.  On failure *err (malloc'ed, the caller frees) is
 * a sentence for the user; -ENOENT.
 */
int comm_valgrind_find(struct comm_valgrind *ret, char **err);
/*
 * Runs the options' command, which writes its result to out_path.  signals is the
 * command's signal mask.  Errors as above.
 */
int comm_valgrind_start(const struct comm_valgrind *valgrind, const struct comm_options *options,
			const char *out_path, const sigset_t *signals, pid_t *ret, char **err);

#endif
