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
	X(replay)  \
	X(perfdata)

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

const char *comm_source_plain_names(char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "%s", comm_source_auto.name);

	for (const struct comm_source *const *s = comm_sources; *s && n < size; s++)
		n += (size_t)snprintf(ret + n, size - n, " %s", (*s)->name);
	return ret;
}

/* Could "auto" take it?  In the first pass over the table: for its precise samples. */
static int probe(const struct comm_source *source, bool precise, char **why)
{
	if (precise)
		return source->precise_arg ? source->probe_precise(why) : -ENODEV;
	return source->sampler ? source->probe(why) : -ENODEV;
}

const struct comm_source *comm_source_choose(unsigned int *at, const char **ret_arg, char **err)
{
	unsigned int n = sizeof(comm_sources) / sizeof(comm_sources[0]) - 1;
	char *all = NULL;

	while (*at < 2 * n) {
		const struct comm_source *source = comm_sources[*at % n];
		bool precise = (*at)++ < n;
		char *why = NULL, *longer;

		*ret_arg = precise ? source->precise_arg : "";
		if (!probe(source, precise, &why)) {
			free(all);
			return source;
		}
		if (!precise && source->sampler &&
		    asprintf(&longer, "%s%s%s: %s", all ? all : "", all ? "; " : "", source->name,
			     why ? why : "no") >= 0) {
			free(all);
			all = longer;
		}
		free(why);
	}
	*err = all;
	return NULL;
}
