// SPDX-License-Identifier: GPL-2.0-or-later
#include "valgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "source.h"

#define TOOL "commexact-amd64-linux"

enum {
	OWN_ARGS = 13, /* most arguments before the command */
};

static bool has_tool(const char *directory)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" TOOL, directory) < PATH_MAX &&
	       !comm_program_check(path);
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
	if (comm_program_find("valgrind", ret->program))
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

int comm_valgrind_start(const struct comm_valgrind *valgrind, const struct comm_options *options,
			const char *out_path, const sigset_t *signals, pid_t *ret, char **err)
{
	char *out = NULL, *granularity = NULL, *phase = NULL, *calls = NULL, *callers = NULL,
	     *function = NULL, **argv = NULL;
	size_t n_command = 0, n = 0;
	int rc;

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
	/* An instruction takes a nanosecond, as for ages, but nobody waits: else slices would end elsewhere each time. */
	if (options->slice_given &&
	    asprintf(&phase, "--phase-instructions=%" PRIu64, options->slice_ns) < 0) {
		phase = NULL;
		rc = comm_source_fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	if (options->calls && asprintf(&calls, "--calls=%s", options->calls) < 0) {
		calls = NULL;
		rc = comm_source_fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	if (options->callers && asprintf(&callers, "--callers=%u", options->callers) < 0) {
		callers = NULL;
		rc = comm_source_fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	if (options->function && asprintf(&function, "--function=%s", options->function) < 0) {
		function = NULL;
		rc = comm_source_fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	argv[n++] = (char *)valgrind->program;
	/* A user's settings for Valgrind ($VALGRIND_OPTS, .valgrindrc) must not reach this tool. */
	argv[n++] = (char *)"--command-line-only=yes";
	argv[n++] = (char *)"-q";
	argv[n++] = (char *)"--tool=commexact";
	/* Its pipes are for a debugger, and a program that gives up root cannot remove them. */
	argv[n++] = (char *)"--vgdb=no";
	argv[n++] = (char *)"--fair-sched=yes";
	argv[n++] = (char *)"--lines=yes";
	argv[n++] = granularity;
	argv[n++] = out;
	if (callers)
		argv[n++] = callers;
	if (calls)
		argv[n++] = calls;
	if (function)
		argv[n++] = function;
	if (phase)
		argv[n++] = phase;
	memcpy(argv + n, options->command, n_command * sizeof(*argv));
	rc = setenv("VALGRIND_LIB", valgrind->tools, 1) ? -errno : 0;
	if (!rc)
		rc = comm_program_spawn(valgrind->program, argv, signals, ret);
	if (rc)
		comm_source_fail(err, rc, "cannot start %s: %s", valgrind->program, strerror(-rc));
out:
	free(argv);
	free(out);
	free(granularity);
	free(phase);
	free(calls);
	free(callers);
	free(function);
	return rc;
}
