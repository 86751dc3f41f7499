// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The PMU's type and the places of its bits come from sysfs.  sysfs names no event
 * that counts all loads; libpfm4 does, where it knows the model, and for the models
 * it does not know (hybrid ones, Granite Rapids) there is a table below: on large cores
 * the codes have been the same since Haswell.
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

#include "event.h"
#include "source.h"

enum kind {
	LOADS,
	STORES,
	TRANSFERS, /* loads of a line that another core of the socket had written */
	REMOTE,	   /* or another socket's */
	KINDS
};

static const struct {
	const char *what;
	uint16_t ways;
	/* libpfm4's, the newest first; the last is Haswell's and Broadwell's. */
	const char *names[3];
} kinds[KINDS] = {
	[LOADS] = {"loads",
		   COMM_ACCESS_READ,
		   {"MEM_INST_RETIRED:ALL_LOADS", "MEM_UOPS_RETIRED:ALL_LOADS"}},
	[STORES] = {"stores",
		    COMM_ACCESS_WRITE,
		    {"MEM_INST_RETIRED:ALL_STORES", "MEM_UOPS_RETIRED:ALL_STORES"}},
	[TRANSFERS] = {"transfers",
		       COMM_ACCESS_READ,
		       {"MEM_LOAD_L3_HIT_RETIRED:XSNP_FWD", "MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM",
			"MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM"}},
	[REMOTE] = {"remote-transfers",
		    COMM_ACCESS_READ,
		    {"MEM_LOAD_L3_MISS_RETIRED:REMOTE_HITM",
		     "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM"}},
};

/*
 * Models that libpfm4 does not know, by what sysfs calls them (caps/pmu_name); the
 * last but one row stands for all other small cores, the last for all other large
 * ones.  0: there is none, as with other sockets where there is but one.
 */
static const struct {
	const char *model;
	uint64_t config[KINDS];
} models[] = {
	{"granite_rapids", {0x81d0, 0x82d0, 0x4d2, 0x4d3}},
	{"small", {0x81d0, 0x82d0, 0x20d1}},
	{"large", {0x81d0, 0x82d0, 0x4d2}},
};

/*
 * Before Haswell only latency events and stores of counter 3 had addresses: what
 * counts all loads there is precise, and says nothing of where.  By sysfs' names and
 * by the beginning of libpfm4's.
 */
static const char *const without_addresses[] = {
	"nehalem", "westmere", "sandybridge", "ivybridge", "nhm", "wsm", "snb", "ivb",
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

static bool has_addresses(const char *model)
{
	for (size_t i = 0; i < sizeof(without_addresses) / sizeof(without_addresses[0]); i++)
		if (!strncmp(model, without_addresses[i], strlen(without_addresses[i])))
			return false;
	return true;
}

/*
 * 0; -ENOENT: libpfm4 knows the model, which lacks the event; -ENOTSUP: libpfm4 does
 * not know the model.
 */
static int ask_pfm(const char *const names[3], uint64_t *ret)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	pfm_pmu_info_t pmu;
	int i, n_models = 0;

	if (pfm_initialize() != PFM_SUCCESS)
		return -ENOTSUP;
	pfm_for_all_pmus(i)
	{
		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS || !pmu.is_present ||
		    pmu.type != PFM_PMU_TYPE_CORE)
			continue;
		n_models++;
		if (!has_addresses(pmu.name))
			return -ENOENT;
	}
	for (i = 0; i < 3 && names[i]; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		if (pfm_get_os_event_encoding(names[i], PFM_PLM3, PFM_OS_PERF_EVENT, &arg) ==
		    PFM_SUCCESS) {
			*ret = attr.config;
			/* Elsewhere (Knights Landing) the name stands for what has no address. */
			return (attr.config & 0xfc) == 0xd0 ? 0 : -ENOENT;
		}
	}
	return n_models ? -ENOENT : -ENOTSUP;
}

/* 0: the model has no such event. */
static uint64_t look_up(enum kind kind, const char *model, bool small)
{
	size_t n = sizeof(models) / sizeof(models[0]), i;
	uint64_t config;
	int rc = small ? -ENOTSUP : ask_pfm(kinds[kind].names, &config);

	if (rc != -ENOTSUP)
		return rc ? 0 : config;
	for (i = 0; i < n - 2; i++)
		if (!strcmp(models[i].model, model))
			return models[i].config[kind];
	return models[small ? n - 2 : n - 1].config[kind];
}

static int intel_events(const char *sysfs, enum comm_pmu_want want,
			struct comm_pmu_event ret[COMM_PMU_EVENTS])
{
	static const enum kind wanted[][KINDS] = {
		[COMM_PMU_ACCESSES] = {LOADS, STORES, KINDS},
		[COMM_PMU_TRANSFERS] = {TRANSFERS, REMOTE, STORES, KINDS},
	};
	int n = 0;

	for (size_t p = 0; p < sizeof(intel_pmus) / sizeof(intel_pmus[0]); p++) {
		const char *pmu = intel_pmus[p];
		char latency[64], model[64] = "";
		uint32_t type;

		/* Only where there is PEBS does the kernel name latency events. */
		if (!read_type(sysfs, pmu, &type) ||
		    !read_line(sysfs, pmu, "events/mem-loads", latency, sizeof(latency)))
			continue;
		read_line(sysfs, pmu, "caps/pmu_name", model, sizeof(model));
		if (!has_addresses(model))
			continue;
		for (const enum kind *k = wanted[want]; *k != KINDS && n < COMM_PMU_EVENTS; k++) {
			struct comm_pmu_event event = {.type = type, .ways = kinds[*k].ways};

			/* Latency has an event of its own on large cores, 0xcd. */
			event.config = look_up(*k, model, strstr(latency, "event=0xd0"));
			if (!event.config)
				continue;
			snprintf(event.name, sizeof(event.name), "%s/%s/", pmu, kinds[*k].what);
			ret[n++] = event;
		}
	}
	return n;
}

int comm_pmu_events(const char *sysfs, enum comm_pmu_want want,
		    struct comm_pmu_event ret[COMM_PMU_EVENTS], char **err)
{
	struct comm_pmu_event ibs = {.name = "ibs_op//", .ibs = true};
	int n;

	if (read_type(sysfs, "ibs_op", &ibs.type)) {
		if (want == COMM_PMU_TRANSFERS)
			return comm_source_fail(err, -ENODEV,
						"AMD's IBS has no event that counts transfers "
						"between cores: use ':precise'");
		/*
		 * IBS counts dispatched ops, not cycles: then each op is equally
		 * likely to be sampled.  Its filters, l3missonly (Zen 4) and ldlat
		 * (Zen 5), are left alone: a sample then stands for no number of
		 * ops any more, since an op that is filtered out restarts the count
		 * somewhere at random.
		 */
		set_flag(sysfs, "cnt_ctl", &ibs);
		ibs.user_filter = set_flag(sysfs, "swfilt", &ibs);
		ret[0] = ibs;
		return 1;
	}
	n = intel_events(sysfs, want, ret);
	if (n)
		return n;
	return comm_source_fail(err, -ENODEV,
				"this machine has no precise memory events (AMD's ibs_op, or "
				"Intel's PEBS with addresses, from Haswell on; virtual machines "
				"mostly hide them)");
}
