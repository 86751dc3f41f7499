// SPDX-License-Identifier: GPL-2.0-or-later
#include "source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct comm_source_config comm_source_defaults = {
	.trigger = COMM_WANT_ANY,
	.stack_bytes = 512,
	.max_lines = 16,
	.switches = true,
};

const struct comm_source *const comm_sources[] = {&comm_source_kmod, &comm_source_bpf,
						  &comm_source_perf, NULL};

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(err, fmt, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

const struct comm_source *comm_source_find(const char *name, char **err)
{
	const struct comm_source *const *s;
	char *all = NULL;

	if (name && strcmp(name, "auto")) {
		for (s = comm_sources; *s; s++)
			if (!strcmp((*s)->name, name))
				return *s;
		comm_source_fail(err, 0, "there is no live source '%s'", name);
		return NULL;
	}
	for (s = comm_sources; *s; s++) {
		char *why = NULL, *longer;

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
