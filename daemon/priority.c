// SPDX-License-Identifier: GPL-2.0-or-later
#include "priority.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads a CPU that want to run: with so many, one has its turn some 30 ms later. */
static const long CROWD = 8;

static bool is_raised;
static int before;

static long runnable_threads(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	long n;

	if (!f)
		return 0;
	if (fscanf(f, "%*f %*f %*f %ld/", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

void comm_priority_raise(void)
{
	if (runnable_threads() <= CROWD * sysconf(_SC_NPROCESSORS_ONLN))
		return;
	before = getpriority(PRIO_PROCESS, 0);
	is_raised = !setpriority(PRIO_PROCESS, 0, -20);
}

void comm_priority_restore(void)
{
	if (is_raised)
		setpriority(PRIO_PROCESS, 0, before);
}
