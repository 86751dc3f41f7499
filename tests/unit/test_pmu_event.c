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
	snprintf(path, sizeof(path), "%s/%s/caps", root, pmu);
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

	want(comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err) == 2);
	want(event[0].type == 4 && event[0].config == 0x81d0 && !event[0].config1);
	want(event[1].type == 4 && event[1].config == 0x82d0 && !event[1].config1);
	want(!event[0].ibs && !strcmp(event[1].name, "cpu/stores/"));
}

/* What each model has, from the vendors' lists of events; 0: nothing with addresses. */
static const struct model {
	const char *pfm; /* libpfm4's name; "" where it knows none */
	const char *sysfs, *latency;
	uint64_t loads, stores, transfers, remote;
} models_known[] = {
	{"nhm", "nehalem", "event=0x0b,umask=0x10,ldlat=3", 0, 0, 0, 0},
	{"nhm_ex", "nehalem", "event=0x0b,umask=0x10,ldlat=3", 0, 0, 0, 0},
	{"wsm", "westmere", "event=0x0b,umask=0x10,ldlat=3", 0, 0, 0, 0},
	{"wsm_dp", "westmere", "event=0x0b,umask=0x10,ldlat=3", 0, 0, 0, 0},
	{"snb", "sandybridge", "event=0xcd,umask=0x1,ldlat=3", 0, 0, 0, 0},
	{"snb_ep", "sandybridge", "event=0xcd,umask=0x1,ldlat=3", 0, 0, 0, 0},
	{"ivb", "ivybridge", "event=0xcd,umask=0x1,ldlat=3", 0, 0, 0, 0},
	{"ivb_ep", "ivybridge", "event=0xcd,umask=0x1,ldlat=3", 0, 0, 0, 0},
	{"hsw", "haswell", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0},
	{"hsw_ep", "haswell", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x10d3},
	{"bdw", "broadwell", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0},
	{"bdw_ep", "broadwell", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x10d3},
	{"skl", "skylake", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0},
	{"skx", "skylake", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x4d3},
	{"clx", "skylake", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x4d3},
	{"icl", "icelake", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0},
	{"icx", "icelake", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x4d3},
	{"spr", "sapphire_rapids", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x4d3},
	{"", "granite_rapids", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0x4d3},
	{"", "crestmont", "event=0xd0,umask=0x5,ldlat=3", 0x81d0, 0x82d0, 0x20d1, 0},
	{"", "of_next_year", "event=0xcd,umask=0x1,ldlat=3", 0x81d0, 0x82d0, 0x4d2, 0},
};

static const struct model *model;

static void has(int n, const struct comm_pmu_event *event, uint64_t config, uint16_t ways)
{
	for (int i = 0; i < n; i++)
		if (event[i].config == config)
			want(event[i].ways == ways && event[i].type == 4 && !event[i].config1);
	for (int i = 0; i < n; i++)
		if (event[i].config == config)
			return;
	want(!config);
}

/* By libpfm4 with what sysfs says of the model, and by libpfm4 alone. */
static void both_wants(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;
	int n = comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err);

	want(n == (model->loads ? 2 : -ENODEV));
	if (n < 0)
		return;
	has(n, event, model->loads, COMM_ACCESS_READ);
	has(n, event, model->stores, COMM_ACCESS_WRITE);
	n = comm_pmu_events(root, COMM_PMU_TRANSFERS, event, &err);
	want(n == 2 + !!model->remote);
	has(n, event, model->stores, COMM_ACCESS_WRITE);
	has(n, event, model->transfers, COMM_ACCESS_READ);
	has(n, event, model->remote, COMM_ACCESS_READ);
}

static void test_intel(void **state)
{
	(void)state;
	put("cpu", "type", "4");
	put("cpu", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
	model = &models_known[8];
	on_model("hsw", loads_and_stores);
	for (size_t i = 0; i < sizeof(models_known) / sizeof(models_known[0]); i++) {
		model = &models_known[i];
		put("cpu", "events/mem-loads", model->latency);
		if (*model->pfm) {
			put("cpu", "caps/pmu_name", "unknown");
			on_model(model->pfm, both_wants);
		}
		put("cpu", "caps/pmu_name", model->sysfs);
		on_model(*model->pfm ? model->pfm : "a_model_it_does_not_know", both_wants);
	}
}

/* No model of Intel's that libpfm4 knows gets an event that is not in the table above. */
static void not_more(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;
	int n = comm_pmu_events(root, COMM_PMU_TRANSFERS, event, &err);

	for (int i = 0; i < n; i++)
		want((event[i].config & 0xff) == 0xd0 || (event[i].config & 0xff) == 0xd2 ||
		     (event[i].config & 0xff) == 0xd3);
}

static void test_all_of_libpfm(void **state)
{
	int i, n = 0;

	(void)state;
	put("cpu", "type", "4");
	put("cpu", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	pfm_for_all_pmus(i)
	{
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS ||
		    pmu.type != PFM_PMU_TYPE_CORE)
			continue;
		/* Its own initialisation must not be inherited. */
		pfm_terminate();
		on_model(pmu.name, not_more);
		assert_int_equal(pfm_initialize(), PFM_SUCCESS);
		n++;
	}
	pfm_terminate();
	assert_true(n > 30);
}

static void two_pmus(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err) == 4);
	want(event[0].type == 4 && event[0].config == 0x81d0);
	want(event[1].type == 4 && event[1].config == 0x82d0);
	want(event[2].type == 10 && event[2].config == 0x81d0);
	want(event[3].type == 10 && event[3].config == 0x82d0);
	want(!strcmp(event[3].name, "cpu_atom/stores/"));
	want(comm_pmu_events(root, COMM_PMU_TRANSFERS, event, &err) == 4);
	want(event[0].type == 4 && event[0].config == 0x4d2);
	want(event[2].type == 10 && event[2].config == 0x20d1);
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

	want(comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err) == 1);
	want(event[0].ibs && event[0].type == 11 && event[0].user_filter);
	want(event[0].config == 1 << 19 && !event[0].config1 && event[0].config2 == 1);
	want(!event[0].ways);
	want(comm_pmu_events(root, COMM_PMU_TRANSFERS, event, &err) == -ENODEV);
}

static void ibs_without_filter(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err) == 1);
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
	on_model("amd64_fam17h_zen1", ibs_without_filter);
	on_model("amd64_fam17h_zen2", ibs_without_filter);
	put("ibs_op", "format/swfilt", "config2:0");
	/* Filters by level and latency would take the samples' weight away. */
	put("ibs_op", "format/l3missonly", "config:16");
	on_model("amd64_fam19h_zen4", ibs_with_filter);
	put("ibs_op", "format/ldlat", "config1:0-11");
	on_model("amd64_fam1ah_zen5", ibs_with_filter);
}

static void nothing(void)
{
	struct comm_pmu_event event[COMM_PMU_EVENTS];
	char *err = NULL;

	want(comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err) == -ENODEV && err);
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

	want(comm_pmu_events(root, COMM_PMU_ACCESSES, event, &err) == 1);
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
		/* The last: it leaves libpfm4 initialised and terminated in this process. */
		cmocka_unit_test_teardown(test_all_of_libpfm, clear),
	};
	int failed;

	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(root);
	return failed;
}
