/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source files: the lines about a line that a report names.  Their paths come from the debug
 * information of observed programs, which may name any file: one is looked for beneath
 * the folders alone that the user has named.
 */
#ifndef CTL_SOURCE_H
#define CTL_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CTL_SOURCE_DIRS = 16 };

struct ctl_source {
	int dir[CTL_SOURCE_DIRS];
	size_t n_dirs;
	uint64_t run_unix_ns; /* a file that changed since then may not be what ran */
	FILE *file;	      /* the last one found */
	char *path;	      /* of it, as asked for */
	bool newer;
};

/* Returns 0 or -errno. */
int ctl_source_add(struct ctl_source *source, const char *dir);
void ctl_source_deinit(struct ctl_source *source);
/*
 * Writes the lines about that line as JSON: {"first": number of the first, "newer": whether
 * the file is newer than the run, "text": [lines]}.  Returns false, and writes nothing,
 * when there is no such file or line.
 */
bool ctl_source_print(struct ctl_source *source, const char *path, uint32_t line, FILE *out);

#endif
