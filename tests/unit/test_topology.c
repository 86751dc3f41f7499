// SPDX-License-Identifier: GPL-2.0-or-later
/* Topologies from /sys and from lscpu, and lists of CPUs. */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_topology.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file beneath dir, and the folders that lead to it. */
static const char *put(const char *name, const char *text)
{
	static char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *c = path + strlen(dir) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(path, 0777);
		*c = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static void check_list(const char *text, const char *expected)
{
	struct ctl_cpus cpus;
	char *back;

	assert_int_equal(ctl_cpus_parse(text, &cpus), 0);
	back = ctl_cpus_text(&cpus);
	assert_string_equal(back, expected);
	free(back);
}

static void test_lists(void **state)
{
	static const char *const bad[] = {"",
					  "\n",
					  "a",
					  "1,",
					  ",1",
					  "3-1",
					  "-1",
					  "1-",
					  "1 2",
					  "0x1",
					  "1;2",
					  "8192",
					  "0-9999999999999",
					  "1-2-3",
					  "1\n2"};
	struct ctl_cpus cpus;

	(void)state;
	check_list("0-3,8\n", "0-3,8");
	check_list("5", "5");
	check_list("3,1,2,8191,1", "1-3,8191");
	check_list("0-8191", "0-8191");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(ctl_cpus_parse(bad[i], &cpus), -EINVAL);
	assert_int_equal(ctl_cpus_parse("62-65", &cpus), 0);
	assert_int_equal(ctl_cpus_count(&cpus), 4);
	assert_true(ctl_cpus_has(&cpus, 64) && !ctl_cpus_has(&cpus, 66));
	assert_false(ctl_cpus_has(&cpus, -1) || ctl_cpus_has(&cpus, 1 << 20));
}

static struct ctl_topology topology;

/* "0-1;2-3": the CPUs of each part of a level. */
static void check_parts(enum ctl_level level, const char *expected)
{
	struct ctl_parts parts;
	char all[1024] = "";

	assert_int_equal(ctl_parts_init(&parts, &topology, level), 0);
	for (size_t p = 0; p < parts.n; p++) {
		char *text = ctl_cpus_text(&parts.part[p].cpus);

		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%d:%s", p ? " " : "",
			 parts.part[p].number, text);
		free(text);
	}
	assert_string_equal(all, expected);
	assert_int_equal(ctl_parts_of(&parts, 1 << 20), parts.n);
	assert_int_equal(ctl_parts_of(&parts, -1), parts.n);
	ctl_parts_deinit(&parts);
}

static int read_at(const char *path, const char *allowed, char **err)
{
	struct ctl_cpus cpus;

	if (allowed)
		assert_int_equal(ctl_cpus_parse(allowed, &cpus), 0);
	return ctl_topology_read(path, allowed ? &cpus : NULL, &topology, err);
}

/* Two nodes of two caches of two CPUs, one of which is offline; node 2 follows node 0. */
static void make_sys(void)
{
	char name[128];

	put("sys/devices/system/cpu/online", "0-6\n");
	put("sys/devices/system/node/online", "0,2\n");
	put("sys/devices/system/node/node0/cpulist", "0-3\n");
	put("sys/devices/system/node/node2/cpulist", "4-6\n");
	for (int cpu = 0; cpu < 7; cpu++) {
		static const struct {
			const char *level, *type;
		} caches[] = {
			{"1", "Data"}, {"4", "Instruction"}, {"3", "Unified"}, {"2", "Unified"}};

		for (int i = 0; i < 4; i++) {
			char list[32];

			snprintf(name, sizeof(name),
				 "sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, i);
			put(name, caches[i].level);
			snprintf(name, sizeof(name),
				 "sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu, i);
			put(name, caches[i].type);
			snprintf(list, sizeof(list), i == 2 ? "%d-%d\n" : "%d\n",
				 i == 2 ? cpu & ~1 : cpu, cpu | 1);
			snprintf(name, sizeof(name),
				 "sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu,
				 i);
			put(name, list);
		}
	}
}

static void test_sys(void **state)
{
	char path[128], *err;

	(void)state;
	make_sys();
	snprintf(path, sizeof(path), "%s/sys", dir);
	assert_int_equal(read_at(path, NULL, &err), 0);
	check_parts(CTL_NODE, "0:0-3 2:4-6");
	check_parts(CTL_CACHE, "0:0-1 2:2-3 4:4-5 6:6");
	check_parts(CTL_CPU, "0:0 1:1 2:2 3:3 4:4 5:5 6:6");
	assert_int_equal(read_at(path, "1,3-4", &err), 0);
	check_parts(CTL_NODE, "0:1,3 2:4");
	check_parts(CTL_CACHE, "1:1 3:3 4:4");
	assert_int_equal(read_at(path, "7-9", &err), -EINVAL);
	assert_non_null(strstr(err, "--cpus"));
	free(err);
}

/* A virtual machine that tells neither caches nor nodes has one of each. */
static void test_sys_of_little(void **state)
{
	char path[128], *err;

	(void)state;
	put("bare/devices/system/cpu/online", "0-2\n");
	snprintf(path, sizeof(path), "%s/bare", dir);
	assert_int_equal(read_at(path, NULL, &err), 0);
	check_parts(CTL_NODE, "0:0-2");
	check_parts(CTL_CACHE, "0:0-2");
	snprintf(path, sizeof(path), "%s/bare/devices", dir);
	assert_int_equal(read_at(path, NULL, &err), -ENOENT);
	assert_non_null(strstr(err, "--topology"));
	free(err);
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(read_at(path, NULL, &err), -ENOENT);
	assert_non_null(strstr(err, "/none"));
	free(err);
}

/* This machine: whatever it is, each CPU is in one part of each level. */
static void test_here(void **state)
{
	char *err;

	(void)state;
	assert_int_equal(read_at(NULL, NULL, &err), 0);
	assert_int_equal(ctl_cpus_count(&topology.cpus), sysconf(_SC_NPROCESSORS_ONLN));
	for (int level = 0; level < CTL_LEVELS; level++) {
		struct ctl_parts parts;
		size_t n = 0;

		assert_int_equal(ctl_parts_init(&parts, &topology, level), 0);
		for (size_t p = 0; p < parts.n; p++)
			n += ctl_cpus_count(&parts.part[p].cpus);
		assert_int_equal(n, sysconf(_SC_NPROCESSORS_ONLN));
		ctl_parts_deinit(&parts);
	}
}

static void test_lscpu(void **state)
{
	static const char *const bad[] = {"0,0,0\nx\n", "-1,0,0\n", "0\n",     "99999,0,0\n",
					  "# none\n",	"",	    "0;0;0\n", "\033[2J\n"};
	char *err;

	(void)state;
	/* util-linux 2.38: L1d, L1i, L2 and L3 behind an empty column; caches are counted. */
	assert_int_equal(
		read_at(put("new", "# CPU,Node,,L1d,L1i,L2,L3\n0,0,,0,0,0,7\n1,1,,1,1,1,8\n"
				   "2,0,,2,2,2,7\n3,1,,3,3,3,8\n"),
			NULL, &err),
		0);
	check_parts(CTL_NODE, "0:0,2 1:1,3");
	check_parts(CTL_CACHE, "0:0,2 1:1,3");
	/* Colons between caches; no node known, no cache known. */
	assert_int_equal(read_at(put("old", "0,,0:0:0:0\n1,,1:1:1:0\n4,,4:4:4:\n"), "0-1,4", &err),
			 0);
	check_parts(CTL_NODE, "0:0-1,4");
	check_parts(CTL_CPU, "0:0 1:1 4:4");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(read_at(put("bad", bad[i]), NULL, &err), -EINVAL);
		assert_non_null(strstr(err, "/bad"));
		free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	      cmocka_unit_test(test_sys),
		cmocka_unit_test(test_sys_of_little), cmocka_unit_test(test_here),
		cmocka_unit_test(test_lscpu),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
