// SPDX-License-Identifier: GPL-2.0-or-later
#include "valgrind.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source.h"

#define TOOL "commexact-amd64-linux"

enum {
	OWN_ARGS = 8, /* before the command, at most */
};

static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

/* As execvp() looks for it.  ret has PATH_MAX bytes. */
static int find_program(const char *name, char *ret)
{
	const char *path = getenv("PATH"), *next;
	int err = -ENOENT;

	if (strchr(name, '/')) {
		if (snprintf(ret, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return check_program(ret);
	}
	for (path = path ? path : "/bin:/usr/bin"; *name && path; path = next) {
		size_t n = strcspn(path, ":");
		int found;

		next = path[n] ? path + n + 1 : NULL;
		if (snprintf(ret, PATH_MAX, "%.*s%s%s", (int)n, path, n ? "/" : "./", name) >=
		    PATH_MAX)
			continue;
		found = check_program(ret);
		if (!found)
			return 0;
		if (found == -EACCES)
			err = -EACCES;
	}
	return err;
}

static bool has_tool(const char *directory)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" TOOL, directory) < PATH_MAX &&
	       !check_program(path);
}

static bool find_tool(char *ret)
{
	static const char *const places[] = {"exact", "../lib/commprof"};
	const char *given = getenv("COMMPROF_EXACT");
	char own[PATH_MAX];
	ssize_t n;

	if (given && *given)
		return snprintf(ret, PATH_MAX, "%s", given) < PATH_MAX && has_tool(ret);
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	if (n <= 0)
		return false;
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(ret, PATH_MAX, "%s/%s", own, places[i]) < PATH_MAX && has_tool(ret))
			return true;
	return false;
}

int comm_valgrind_find(struct comm_valgrind *ret, char **err)
{
	if (find_program("valgrind", ret->program))
		return comm_source_fail(err, -ENOENT,
					"the exact source needs Valgrind, which is not on the "
					"PATH: install the package valgrind");
	if (!find_tool(ret->tools))
		return comm_source_fail(
			err, -ENOENT,
			"Valgrind is there, but not the tool " TOOL ": install the "
			"package valgrind and build with make, or set COMMPROF_EXACT "
			"to the directory that holds it");
	return 0;
}

/* Valgrind expands % in file names. */
static char *out_option(const char *path)
{
	char *option = malloc(sizeof("--exact-out=") + 2 * strlen(path)), *to;

	if (!option)
		return NULL;
	for (to = stpcpy(option, "--exact-out="); *path; path++) {
		if (*path == '%')
			*to++ = '%';
		*to++ = *path;
	}
	*to = '\0';
	return option;
}

static int spawn(const struct comm_valgrind *valgrind, char *const *argv, const sigset_t *signals,
		 pid_t *ret)
{
	posix_spawnattr_t attr;
	sigset_t usual;
	int err;

	/* A shell's job in the background ignores what we want to pass on. */
	sigemptyset(&usual);
	sigaddset(&usual, SIGINT);
	sigaddset(&usual, SIGTERM);
	sigaddset(&usual, SIGHUP);
	if (setenv("VALGRIND_LIB", valgrind->tools, 1))
		return -errno;
	err = posix_spawnattr_init(&attr);
	if (err)
		return -err;
	err = posix_spawnattr_setsigmask(&attr, signals);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attr, &usual);
	if (!err)
		err = posix_spawnattr_setflags(&attr,
					       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!err)
		err = posix_spawn(ret, valgrind->program, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return -err;
}

int comm_valgrind_start(const struct comm_valgrind *valgrind, const struct comm_options *options,
			const char *out_path, const sigset_t *signals, pid_t *ret, char **err)
{
	char *out = NULL, *granularity = NULL, **argv = NULL, program[PATH_MAX];
	size_t n_command = 0, n = 0;
	int rc;

	rc = find_program(options->command[0], program);
	if (rc)
		return comm_source_fail(err, rc, "cannot run %s: %s", options->command[0],
					strerror(-rc));
	while (options->command[n_command])
		n_command++;
	argv = calloc(OWN_ARGS + n_command + 1, sizeof(*argv));
	out = out_option(out_path);
	if (!argv || !out ||
	    asprintf(&granularity, "--granularity=%u", options->granularity_bytes) < 0) {
		granularity = NULL;
		rc = comm_source_fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	argv[n++] = (char *)valgrind->program;
	/* What a user has set for Valgrind's own tools must not reach this one. */
	argv[n++] = (char *)"--command-line-only=yes";
	argv[n++] = (char *)"-q";
	argv[n++] = (char *)"--tool=commexact";
	argv[n++] = (char *)"--fair-sched=yes";
	argv[n++] = (char *)"--lines=yes";
	argv[n++] = granularity;
	argv[n++] = out;
	memcpy(argv + n, options->command, n_command * sizeof(*argv));
	rc = spawn(valgrind, argv, signals, ret);
	if (rc)
		comm_source_fail(err, rc, "cannot start %s: %s", valgrind->program, strerror(-rc));
out:
	free(argv);
	free(out);
	free(granularity);
	return rc;
}
