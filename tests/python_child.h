/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Python interpreter that runs a script, tells what it knows of itself, and stays until its input ends.  There may
 * be none at /usr/bin/python3: then it tells nothing.
 */
#ifndef TESTS_PYTHON_CHILD_H
#define TESTS_PYTHON_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { NO_PYTHON = 77 };

/* Returns what it tells; *ret_stop: it ends when that is closed. */
static inline FILE *start_python_at(const char *path, const char *script, pid_t *ret_pid,
				    int *ret_stop)
{
	int in[2], out[2];
	FILE *file;

	assert_int_equal(pipe(in) | pipe(out), 0);
	*ret_pid = fork();
	if (!*ret_pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		setenv("PYTHONUTF8", "1", 1);
		execl(path, "python3", "-c", script, NULL);
		_exit(NO_PYTHON);
	}
	close(in[0]);
	close(out[1]);
	*ret_stop = in[1];
	file = fdopen(out[0], "r");
	assert_non_null(file);
	return file;
}

static inline FILE *start_python(const char *script, pid_t *ret_pid, int *ret_stop)
{
	return start_python_at("/usr/bin/python3", script, ret_pid, ret_stop);
}

#endif
