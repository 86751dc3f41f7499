// SPDX-License-Identifier: GPL-2.0-or-later
#include "idle_time.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double least_s = 0.1; /* ten times what /proc/uptime tells apart */

enum { CPUS_MOST = 1 << 16 };

static bool runs_everywhere(double cpus)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MOST);
	size_t bytes = CPU_ALLOC_SIZE(CPUS_MOST);
	bool everywhere;

	if (!set)
		return false;
	everywhere = !sched_getaffinity(0, bytes, set) && CPU_COUNT_S(bytes, set) >= cpus;
	CPU_FREE(set);
	return everywhere;
}

/* Whether a file of a control group begins with a number above zero: a quota.  "max" and -1 are none. */
static bool has_quota(const char *group, const char *file)
{
	char path[PATH_MAX], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return strtoll(text, NULL, 10) > 0;
}

/* Of the group or of one that it is in. */
static bool is_limited(const char *root, const char *group, const char *file)
{
	char path[PATH_MAX], *end;

	snprintf(path, sizeof(path), "%s%s", root, group);
	for (;;) {
		if (has_quota(path, file))
			return true;
		end = strrchr(path, '/');
		if (!end || end < path + strlen(root))
			return has_quota(root, file);
		*end = 0;
	}
}

/* A line of /proc/self/cgroup: ID:CONTROLLERS:PATH (cgroups(7)). */
static bool line_has_limit(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	line[strcspn(line, "\n")] = 0;
	group = controllers ? strchr(++controllers, ':') : NULL;
	if (!group)
		return false;
	*group++ = 0;
	if (!*controllers)
		return is_limited("/sys/fs/cgroup", group, "cpu.max");
	for (char *rest, *name = strtok_r(controllers, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest))
		if (strcmp(name, "cpu") == 0)
			return is_limited("/sys/fs/cgroup/cpu", group, "cpu.cfs_quota_us");
	return false;
}

static bool has_limit(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	if (!file)
		return false;
	while (!found && getline(&line, &size, file) > 0)
		found = line_has_limit(line);
	free(line);
	fclose(file);
	return found;
}

static bool read_uptime(const struct comm_idle_time *idle, double *up_s, double *idle_s)
{
	char text[64];
	ssize_t n = pread(idle->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = 0;
	return sscanf(text, "%lf %lf", up_s, idle_s) == 2;
}

void comm_idle_time_open(struct comm_idle_time *idle)
{
	*idle = (struct comm_idle_time){.fd = -1, .cpus = (double)sysconf(_SC_NPROCESSORS_ONLN)};
	if (!runs_everywhere(idle->cpus) || has_limit())
		return;
	idle->fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC);
	if (idle->fd >= 0 && !read_uptime(idle, &idle->up_s, &idle->idle_s))
		comm_idle_time_close(idle);
}

void comm_idle_time_close(struct comm_idle_time *idle)
{
	if (idle->fd >= 0)
		close(idle->fd);
	idle->fd = -1;
}

double comm_idle_time_share(struct comm_idle_time *idle, uint64_t own_ns)
{
	double up_s, idle_s, elapsed_s;

	if (idle->fd < 0 || !read_uptime(idle, &up_s, &idle_s))
		return 0;
	idle->own_s += (double)own_ns / 1e9;
	elapsed_s = up_s - idle->up_s;
	if (elapsed_s < least_s)
		return idle->share;
	/* Without this process its CPU would have been idle. */
	idle->share = (idle_s - idle->idle_s + idle->own_s) / (idle->cpus * elapsed_s);
	idle->share = idle->share < 0 ? 0 : idle->share > 1 ? 1 : idle->share;
	idle->up_s = up_s;
	idle->idle_s = idle_s;
	idle->own_s = 0;
	return idle->share;
}
