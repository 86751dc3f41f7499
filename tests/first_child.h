/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first child of a process, as /proc has it.  For tests of helpers that a part of commd starts. */
#ifndef TESTS_FIRST_CHILD_H
#define TESTS_FIRST_CHILD_H

#include <stdio.h>
#include <sys/types.h>

/* 0: it has none. */
static inline pid_t first_child_of(pid_t parent)
{
	char path[64];
	pid_t pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

#endif
