// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of the CPUs' time nobody uses, of a made /proc/uptime and made control groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static const char *uptime_is = "", *group_is, *quota_path, *quota_is;
static int cpus_are, may_run_on;
static char asked[4096]; /* paths that were opened, each behind a space */

static FILE *made_fopen(const char *path, const char *mode);
static ssize_t made_pread(int fd, void *buf, size_t bytes, off_t at);

/* Before what is renamed below. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static long made_sysconf(int name)
{
	(void)name;
	return cpus_are;
}

static int made_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(bytes, set);
	for (int i = 0; i < may_run_on; i++)
		CPU_SET_S(i, bytes, set);
	return 0;
}

#define fopen made_fopen
#define pread made_pread
#define sysconf made_sysconf
#define sched_getaffinity made_getaffinity
#include "../../daemon/idle_time.c"
#undef fopen

static FILE *made_fopen(const char *path, const char *mode)
{
	const char *text = NULL;

	snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), " %s", path);
	if (strcmp(path, "/proc/self/cgroup") == 0)
		text = group_is;
	else if (quota_path && strcmp(path, quota_path) == 0)
		text = quota_is;
	return text && *text ? fmemopen((void *)(uintptr_t)text, strlen(text), mode) : NULL;
}

static ssize_t made_pread(int fd, void *buf, size_t bytes, off_t at)
{
	(void)fd;
	(void)at;
	return snprintf(buf, bytes, "%s", uptime_is);
}

static int begin(struct comm_idle_time *idle)
{
	cpus_are = cpus_are ? cpus_are : 2;
	may_run_on = may_run_on ? may_run_on : cpus_are;
	uptime_is = "100.00 150.00\n";
	asked[0] = 0;
	comm_idle_time_open(idle);
	return idle->fd;
}

static void test_share(void **state)
{
	struct comm_idle_time idle;

	(void)state;
	assert_true(begin(&idle) >= 0);
	/* Of 2 s of two CPUs 0.9 were idle, and this process had 0.1. */
	uptime_is = "101.00 150.90\n";
	assert_float_equal(comm_idle_time_share(&idle, 100000000), 0.5, 1e-9);
	/* Too soon to be told: the same again, and what was used counts later. */
	uptime_is = "101.05 151.00\n";
	assert_float_equal(comm_idle_time_share(&idle, 40000000), 0.5, 1e-9);
	uptime_is = "102.00 150.90\n";
	assert_float_equal(comm_idle_time_share(&idle, 60000000), 0.05, 1e-9);
	/* All that nobody else wanted, and no more: counters are read one after the other. */
	uptime_is = "103.00 152.90\n";
	assert_float_equal(comm_idle_time_share(&idle, 500000000), 1, 0);
	uptime_is = "104.00 152.80\n";
	assert_float_equal(comm_idle_time_share(&idle, 0), 0, 0);
	uptime_is = "garbage\n";
	assert_float_equal(comm_idle_time_share(&idle, 0), 0, 0);
	comm_idle_time_close(&idle);
	assert_float_equal(comm_idle_time_share(&idle, 0), 0, 0);
	uptime_is = "garbage\n";
	comm_idle_time_open(&idle);
	assert_int_equal(idle.fd, -1);
}

/* Idle CPUs that this process may not use are of no use to it. */
static void test_bound_to_cpus(void **state)
{
	struct comm_idle_time idle;

	(void)state;
	may_run_on = 1;
	assert_int_equal(begin(&idle), -1);
	assert_float_equal(comm_idle_time_share(&idle, 0), 0, 0);
	may_run_on = 0;
}

/* Time that a quota counts is taken from whoever shares it. */
static void test_quota(void **state)
{
	static const struct {
		const char *group, *path, *quota;
		bool is_limited;
	} is[] = {
		{"0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n", true},
		{"0::/a/b\n", "/sys/fs/cgroup/a/cpu.max", "50000 100000\n", true},
		{"0::/a/b\n", "/sys/fs/cgroup/a/cpu.max", "max 100000\n", false},
		{"0::/\n", "/sys/fs/cgroup/cpu.max", "50000 100000\n", true},
		{"0::/a\n", NULL, NULL, false},
		{"3:cpu,cpuacct:/a\n0::/\n", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n",
		 true},
		{"3:cpu,cpuacct:/a\n0::/\n", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n",
		 false},
		{"4:cpuset:/a\n0::/\n", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n", false},
		{"no group\n", "/sys/fs/cgroup/cpu.max", "50000 100000\n", false},
		{NULL, NULL, NULL, false},
	};
	struct comm_idle_time idle;

	(void)state;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		group_is = is[i].group;
		quota_path = is[i].path;
		quota_is = is[i].quota;
		if ((begin(&idle) < 0) != is[i].is_limited)
			fail_msg("case %zu: %s", i, asked);
		comm_idle_time_close(&idle);
	}
	group_is = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_bound_to_cpus),
		cmocka_unit_test(test_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
