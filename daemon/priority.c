// SPDX-License-Identifier: GPL-2.0-or-later
#include "priority.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads a CPU that want to run: with so many, one has its turn some 30 ms later. */
static const long CROWD = 8;

static bool is_raised, may_return, is_yielding, has_limit;
static int before;
static struct rlimit limit_before;

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
	if (has_limit)
		setrlimit(RLIMIT_NICE, &limit_before);
}

/* The limit has 20 - nice (getrlimit(2)).  A raised priority could not come back. */
void comm_priority_allow_return(void)
{
	rlim_t wanted = (rlim_t)(20 - getpriority(PRIO_PROCESS, 0));
	struct rlimit limit;

	is_yielding = sched_getscheduler(0) == SCHED_IDLE;
	if (is_raised || is_yielding || getrlimit(RLIMIT_NICE, &limit_before))
		return;
	limit = limit_before;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted;
		limit.rlim_max = limit.rlim_max < wanted ? wanted : limit.rlim_max;
		has_limit = !setrlimit(RLIMIT_NICE, &limit);
	}
	may_return = limit_before.rlim_cur >= wanted || has_limit;
}

bool comm_priority_yield(bool wanted)
{
	static const struct sched_param none;

	if (may_return && wanted != is_yielding &&
	    !sched_setscheduler(0, wanted ? SCHED_IDLE : SCHED_OTHER, &none))
		is_yielding = wanted;
	return is_yielding;
}
