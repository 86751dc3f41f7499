// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encodings for other machines than this one: libpfm4 is told the model, sysfs is a
 * folder made for the test.  The expected values are the vendors' published ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../daemon/source/pmu_event.c"

static char root[] = "/tmp/pmu_event.XXXXXX";

/* Replaces the function of source.c, which would drag in every source. */
int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	*err = strdup(fmt);
	return error;
}

static void put(const char *pmu, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, pmu);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/format", root, pmu);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/events", root, pmu);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", root, pmu, file);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static int clear(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s/*", root);
	return system(command);
}

/* libpfm4 looks for the model once per process. */
static void on_model(const char *model, void (*body)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		setenv("LIBPFM_FORCE_PMU", model, 1);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* An assertion for the child process: cmocka's own would longjmp() into the parent's stack. */
#define want(condition)                                                         \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                               \
		}                                                               \
	} while (0)

static void loads_and_stores(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, event, &err) == 2);
	want(event[0].type == 4 && event[0].config == 0x81d0 && !event[0].config1);
	want(event[1].type == 4 && event[1].config == 0x82d0 && !event[1].config1);
	want(!event[0].ibs && !strcmp(event[1].name, "cpu/stores/"));
}

static void test_intel(void **state)
{
	static const char *const models[] = {"hsw", "bdw", "skl", "clx", "icl", "icx", "spr"};

	(void)state;
	put("cpu", "type", "4");
	put("cpu", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		on_model(models[i], loads_and_stores);
}

static void two_pmus(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, event, &err) == 4);
	want(event[0].type == 4 && event[0].config == 0x81d0);
	want(event[1].type == 4 && event[1].config == 0x82d0);
	want(event[2].type == 10 && event[2].config == 0x81d0);
	want(event[3].type == 10 && event[3].config == 0x82d0);
	want(!strcmp(event[3].name, "cpu_atom/stores/"));
}

/* Alder Lake is not a model that every libpfm4 knows. */
static void test_hybrid(void **state)
{
	(void)state;
	put("cpu_core", "type", "4");
	put("cpu_core", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
	put("cpu_atom", "type", "10");
	put("cpu_atom", "events/mem-loads", "event=0xd0,umask=0x5,ldlat=3");
	on_model("adl_glc", two_pmus);
}

static void ibs_with_filter(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, event, &err) == 1);
	want(event[0].ibs && event[0].type == 11 && event[0].user_filter);
	want(event[0].config == 1 << 19 && !event[0].config1 && event[0].config2 == 1);
}

static void ibs_without_filter(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, event, &err) == 1);
	want(event[0].ibs && event[0].type == 11 && !event[0].user_filter);
	want(event[0].config == 1 << 19 && !event[0].config2);
}

static void test_amd(void **state)
{
	(void)state;
	put("cpu", "type", "4");
	put("ibs_op", "type", "11");
	put("ibs_op", "format/cnt_ctl", "config:19");
	on_model("amd64_fam19h_zen3", ibs_without_filter);
	put("ibs_op", "format/swfilt", "config2:0");
	on_model("amd64_fam19h_zen4", ibs_with_filter);
}

static void nothing(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, event, &err) == -ENODEV && err);
}

/* A virtual machine: a core PMU at most, and no event with addresses. */
static void test_none(void **state)
{
	(void)state;
	on_model("skl", nothing);
	put("cpu", "type", "4");
	on_model("amd64_fam19h_zen4", nothing);
}

static void odd(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, event, &err) == 1);
	want(!event[0].config && !event[0].config2 && !event[0].user_filter);
}

/* A missing field or bit in sysfs sets nothing. */
static void test_odd(void **state)
{
	(void)state;
	put("ibs_op", "type", "11");
	put("ibs_op", "format/cnt_ctl", "config:64");
	put("ibs_op", "format/swfilt", "config9:0");
	on_model("amd64_fam19h_zen4", odd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_intel, clear),
		cmocka_unit_test_teardown(test_hybrid, clear),
		cmocka_unit_test_teardown(test_amd, clear),
		cmocka_unit_test_teardown(test_none, clear),
		cmocka_unit_test_teardown(test_odd, clear),
	};
	int failed;

	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(root);
	return failed;
}
