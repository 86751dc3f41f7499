// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The PMU's type and the places of its bits come from sysfs.  sysfs names no event
 * that counts all loads; libpfm4 does, where it knows the model, and for the models
 * it does not know (hybrid ones) there is the table below: its codes have been the
 * same since Haswell, on both kinds of cores.
 */
#include "pmu_event.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perfmon/pfmlib_perf_event.h>

#include "source.h"

static const struct {
	const char *what;
	const char *names[2]; /* libpfm4's names: on Skylake and later, on Haswell and Broadwell */
	uint64_t config;
} kinds[] = {
	{"loads", {"MEM_INST_RETIRED:ALL_LOADS", "MEM_UOPS_RETIRED:ALL_LOADS"}, 0x81d0},
	{"stores", {"MEM_INST_RETIRED:ALL_STORES", "MEM_UOPS_RETIRED:ALL_STORES"}, 0x82d0},
};

static const char *const intel_pmus[] = {"cpu", "cpu_core", "cpu_atom"};

/* The first line of a file below the PMU's folder; false: no such file. */
static bool read_line(const char *sysfs, const char *pmu, const char *file, char *ret, int size)
{
	char path[PATH_MAX];
	bool got = false;
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/%s/%s", sysfs, pmu, file) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(ret, size, f)) {
		ret[strcspn(ret, "\n")] = 0;
		got = true;
	}
	fclose(f);
	return got;
}

static bool read_type(const char *sysfs, const char *pmu, uint32_t *ret)
{
	char line[64];

	return read_line(sysfs, pmu, "type", line, sizeof(line)) &&
	       sscanf(line, "%" SCNu32, ret) == 1;
}

/* Sets the one bit that a format file such as "config2:0" names. */
static bool set_flag(const char *sysfs, const char *format, struct comm_pmu_event *event)
{
	char line[64], file[64], field[16];
	uint64_t *to = NULL;
	unsigned int bit;

	snprintf(file, sizeof(file), "format/%s", format);
	if (!read_line(sysfs, "ibs_op", file, line, sizeof(line)) ||
	    sscanf(line, "%15[a-z0-9]:%u", field, &bit) != 2 || bit > 63)
		return false;
	if (!strcmp(field, "config"))
		to = &event->config;
	else if (!strcmp(field, "config1"))
		to = &event->config1;
	else if (!strcmp(field, "config2"))
		to = &event->config2;
	if (to)
		*to |= 1ULL << bit;
	return to;
}

/*
 * 0; -ENOENT: libpfm4 knows the model, which lacks the event; -ENOTSUP: libpfm4 does
 * not know the model.
 */
static int ask_pfm(const char *const names[2], uint64_t *ret)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	pfm_pmu_info_t pmu;
	int i, n_models = 0;

	if (pfm_initialize() != PFM_SUCCESS)
		return -ENOTSUP;
	for (i = 0; i < 2; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		if (pfm_get_os_event_encoding(names[i], PFM_PLM3, PFM_OS_PERF_EVENT, &arg) ==
		    PFM_SUCCESS) {
			*ret = attr.config;
			return 0;
		}
	}
	pfm_for_all_pmus(i)
	{
		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		n_models += pfm_get_pmu_info((pfm_pmu_t)i, &pmu) == PFM_SUCCESS && pmu.is_present &&
			    pmu.type == PFM_PMU_TYPE_CORE;
	}
	return n_models ? -ENOENT : -ENOTSUP;
}

/* Is the PMU Intel's with PEBS?  Only there does the kernel name latency events (mem-loads). */
static bool has_precise_loads(const char *sysfs, const char *pmu)
{
	char line[64];

	return read_line(sysfs, pmu, "events/mem-loads", line, sizeof(line));
}

static int intel_events(const char *sysfs, struct comm_pmu_event ret[COMM_PMU_EVENTS])
{
	int n = 0;

	for (size_t p = 0; p < sizeof(intel_pmus) / sizeof(intel_pmus[0]); p++) {
		const char *pmu = intel_pmus[p];
		uint32_t type;

		if (!read_type(sysfs, pmu, &type) || !has_precise_loads(sysfs, pmu))
			continue;
		for (size_t k = 0; k < 2 && n < COMM_PMU_EVENTS; k++) {
			struct comm_pmu_event event = {.type = type};
			int rc = ask_pfm(kinds[k].names, &event.config);

			if (rc == -ENOENT)
				continue;
			if (rc)
				event.config = kinds[k].config;
			snprintf(event.name, sizeof(event.name), "%s/%s/", pmu, kinds[k].what);
			ret[n++] = event;
		}
	}
	return n;
}

int comm_pmu_events(const char *sysfs, struct comm_pmu_event ret[COMM_PMU_EVENTS], char **err)
{
	struct comm_pmu_event ibs = {.name = "ibs_op//", .ibs = true};
	int n;

	if (read_type(sysfs, "ibs_op", &ibs.type)) {
		/*
		 * IBS counts dispatched ops, not cycles: then each op is equally
		 * likely to be sampled.
		 */
		set_flag(sysfs, "cnt_ctl", &ibs);
		ibs.user_filter = set_flag(sysfs, "swfilt", &ibs);
		ret[0] = ibs;
		return 1;
	}
	n = intel_events(sysfs, ret);
	if (n)
		return n;
	return comm_source_fail(err, -ENODEV,
				"this machine has no precise memory events (ibs_op, or PEBS loads "
				"and stores; virtual machines mostly hide them): use kmod without "
				"':precise'");
}
