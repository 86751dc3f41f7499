// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of sources, with fake sources that work or not as the test says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../daemon/source/source.c"

static bool kmod_works, bpf_works, kmod_precise, perf_precise;

static int probe_kmod(char **why)
{
	return kmod_works ? 0 : comm_source_fail(why, -ENOENT, "no %s", "module");
}

static int probe_bpf(char **why)
{
	return bpf_works ? 0 : comm_source_fail(why, -EPERM, "not permitted");
}

static int probe_never(char **why)
{
	*why = NULL;
	return -ENODEV;
}

static int probe_always(char **why)
{
	(void)why;
	return 0;
}

static int probe_kmod_precise(char **why)
{
	return kmod_precise ? 0 : comm_source_fail(why, -ENODEV, "no PMU");
}

static int probe_perf_precise(char **why)
{
	return perf_precise ? 0 : comm_source_fail(why, -ENODEV, "no PMU");
}

static const struct comm_sampler sampler;

const struct comm_source comm_source_kmod = {.name = "kmod",
					     .arg = "precise",
					     .precise_arg = "precise",
					     .probe_precise = probe_kmod_precise,
					     .probe = probe_kmod,
					     .sampler = &sampler};
const struct comm_source comm_source_bpf = {.name = "bpf", .probe = probe_bpf, .sampler = &sampler};
const struct comm_source comm_source_perf = {.name = "perf",
					     .precise_arg = "precise",
					     .probe_precise = probe_perf_precise,
					     .probe = probe_never,
					     .sampler = &sampler};
const struct comm_source comm_source_exact = {.name = "exact", .probe = probe_always};
const struct comm_source comm_source_replay = {
	.name = "replay", .arg = "FILE", .needs_arg = true, .probe = probe_always};
const struct comm_source comm_source_perfdata = {
	.name = "perfdata", .arg = "FILE", .needs_arg = true, .probe = probe_always};

static void test_find(void **state)
{
	(void)state;
	assert_ptr_equal(comm_source_find("auto"), &comm_source_auto);
	assert_ptr_equal(comm_source_find("kmod"), &comm_source_kmod);
	assert_ptr_equal(comm_source_find("replay"), &comm_source_replay);
	assert_null(comm_source_find("kmo"));
	assert_null(comm_source_find("kmod:precise"));
	assert_null(comm_source_find(""));
}

static void test_names(void **state)
{
	char names[256], few[12];

	(void)state;
	comm_source_names(names, sizeof(names));
	assert_string_equal(names,
			    "auto, bpf, kmod[:precise], perf, exact, replay:FILE or perfdata:FILE");
	comm_source_names(few, sizeof(few));
	assert_string_equal(few, "auto, bpf, ");
}

/* From the start of the table on. */
static const struct comm_source *choose(const char **arg, char **why)
{
	unsigned int at = 0;

	return comm_source_choose(&at, arg, why);
}

static void test_choose(void **state)
{
	const char *arg;
	char *why = NULL;

	(void)state;
	kmod_works = bpf_works = true;
	assert_ptr_equal(choose(&arg, &why), &comm_source_bpf);
	bpf_works = false;
	assert_ptr_equal(choose(&arg, &why), &comm_source_kmod);
	assert_null(why);
	assert_string_equal(arg, "");
	/* A machine with PEBS or IBS: through the module, or else through perf. */
	kmod_works = perf_precise = true;
	assert_ptr_equal(choose(&arg, &why), &comm_source_perf);
	assert_string_equal(arg, "precise");
	kmod_precise = true;
	assert_ptr_equal(choose(&arg, &why), &comm_source_kmod);
	assert_string_equal(arg, "precise");
	kmod_precise = perf_precise = false;
}

/* The one that was chosen could not be opened: the next, down to none. */
static void test_choose_next(void **state)
{
	const char *arg;
	unsigned int at = 0;
	char *why = NULL;

	(void)state;
	kmod_works = bpf_works = perf_precise = true;
	assert_ptr_equal(comm_source_choose(&at, &arg, &why), &comm_source_perf);
	assert_string_equal(arg, "precise");
	assert_ptr_equal(comm_source_choose(&at, &arg, &why), &comm_source_bpf);
	assert_string_equal(arg, "");
	assert_ptr_equal(comm_source_choose(&at, &arg, &why), &comm_source_kmod);
	assert_null(why);
	assert_null(comm_source_choose(&at, &arg, &why));
	assert_string_equal(why, "perf: no");
	free(why);
	perf_precise = false;
}

/* A recording or exact counts are never what "auto" means, though they work. */
static void test_choose_none(void **state)
{
	const char *arg;
	char *why = NULL;

	(void)state;
	kmod_works = bpf_works = false;
	assert_null(choose(&arg, &why));
	assert_string_equal(why, "bpf: not permitted; kmod: no module; perf: no");
	free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	    cmocka_unit_test(test_names),
		cmocka_unit_test(test_choose),	    cmocka_unit_test(test_choose_next),
		cmocka_unit_test(test_choose_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
