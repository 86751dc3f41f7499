// SPDX-License-Identifier: GPL-2.0-or-later
/* NUMA nodes of a made-up machine. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "numa.c"

static char dir[64], text[COMM_NUMA_BYTES];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_numa.XXXXXX");
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

static void put(int node, const char *cpus)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/node%d", dir, node);
	mkdir(path, 0777);
	strcat(path, "/cpulist");
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(cpus, file);
	fclose(file);
}

static void test_nodes(void **state)
{
	(void)state;
	comm_numa_read(dir, text);
	assert_string_equal(text, "");
	put(0, "0-3,8-11\n");
	comm_numa_read(dir, text);
	assert_string_equal(text, "0:0-3,8-11");
	/* Numbers have gaps, and a node of memory alone has no CPUs. */
	put(1, "\n");
	put(17, "4-7");
	comm_numa_read(dir, text);
	assert_string_equal(text, "0:0-3,8-11;17:4-7");
	comm_numa_read("/nowhere", text);
	assert_string_equal(text, "");
}

/* Half of a list would be wrong. */
static void test_too_long(void **state)
{
	static char cpus[COMM_NUMA_BYTES];

	(void)state;
	memset(cpus, '1', sizeof(cpus) - 1);
	put(0, "0-3");
	put(1, cpus);
	comm_numa_read(dir, text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_long, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
