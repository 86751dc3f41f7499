// SPDX-License-Identifier: GPL-2.0-or-later
#include "source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What "auto" prefers comes first, as far as it was measured whose reports are nearer the
 * truth: bpf's, then kmod's, then perf's (the table in kmod/README.md).
 * X(name): comm_source_NAME, defined in NAME.c.
 */
#define SOURCES(X) \
	X(bpf)     \
	X(kmod)    \
	X(perf)    \
	X(exact)   \
	X(replay)

#define DECLARE(name) extern const struct comm_source comm_source_##name;
SOURCES(DECLARE)

#define ROW(name) &comm_source_##name,
const struct comm_source *const comm_sources[] = {SOURCES(ROW) NULL};

const struct comm_source comm_source_auto = {.name = "auto"};

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(err, fmt, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

const struct comm_source *comm_source_find(const char *name)
{
	if (!strcmp(name, comm_source_auto.name))
		return &comm_source_auto;
	for (const struct comm_source *const *s = comm_sources; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

void comm_source_names(char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "%s", comm_source_auto.name);

	for (const struct comm_source *const *s = comm_sources; *s && n < size; s++) {
		const char *arg = (*s)->arg;

		n += (size_t)snprintf(ret + n, size - n, "%s%s%s%s%s", s[1] ? ", " : " or ",
				      (*s)->name,
				      !arg		? ""
				      : (*s)->needs_arg ? ":"
							: "[:",
				      arg ? arg : "", !arg || (*s)->needs_arg ? "" : "]");
	}
}

const struct comm_source *comm_source_choose(const char **ret_arg, char **err)
{
	char *all = NULL;

	for (const struct comm_source *const *s = comm_sources; *s; s++) {
		char *why = NULL;
		int rc = (*s)->precise_arg ? (*s)->probe_precise(&why) : -ENODEV;

		free(why);
		*ret_arg = (*s)->precise_arg;
		if (!rc)
			return *s;
	}
	*ret_arg = "";

	for (const struct comm_source *const *s = comm_sources; *s; s++) {
		char *why = NULL, *longer;

		if (!(*s)->sampler)
			continue;
		if (!(*s)->probe(&why)) {
			free(all);
			return *s;
		}
		if (asprintf(&longer, "%s%s%s: %s", all ? all : "", all ? "; " : "", (*s)->name,
			     why ? why : "no") >= 0) {
			free(all);
			all = longer;
		}
		free(why);
	}
	*err = all;
	return NULL;
}
