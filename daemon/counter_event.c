// SPDX-License-Identifier: GPL-2.0-or-later
#include "counter_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perfmon/pfmlib_perf_event.h>

#include "source.h"
#include "trigger.h"

static bool is_raw(const char *name, uint64_t *ret)
{
	char *end;

	if (name[0] != 'r' || !name[1] || strspn(name + 1, "0123456789abcdefABCDEF") > 16)
		return false;
	*ret = strtoull(name + 1, &end, 16);
	return !*end;
}

int comm_counter_event(const char *name, struct perf_event_attr *ret, char **err)
{
	pfm_perf_encode_arg_t arg = {.attr = ret, .size = sizeof(arg)};
	uint64_t raw;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	if (is_raw(name, &raw)) {
		ret->type = PERF_TYPE_RAW;
		ret->config = raw;
	} else {
		rc = pfm_initialize();
		if (rc == PFM_SUCCESS)
			rc = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT,
						       &arg);
		if (rc != PFM_SUCCESS)
			return comm_source_fail(
				err, -ENOENT,
				"there is no event '%s' for the processor of this machine (%s); "
				"commd --doctor lists what there is",
				name, pfm_strerror(rc));
	}
	/* Whatever the name's default is: it is counted, never sampled. */
	ret->size = sizeof(*ret);
	ret->sample_period = 0;
	ret->freq = 0;
	ret->precise_ip = 0;
	ret->disabled = 1;
	return 0;
}

int comm_counter_event_try(const char *name, char **err)
{
	enum { CPUS = 8192 };
	int *cpu = calloc(CPUS, sizeof(*cpu)), n = cpu ? comm_online_cpus(cpu, CPUS) : -ENOMEM;
	struct perf_event_attr attr;
	int rc = comm_counter_event(name, &attr, err), fd = -ENODEV;

	for (int i = 0; i < n && !rc && fd < 0; i++)
		fd = comm_perf_open(&attr, -1, cpu[i], -1, 0);
	free(cpu);
	if (fd >= 0)
		close(fd);
	if (rc || fd >= 0)
		return rc;
	if (fd == -EACCES || fd == -EPERM)
		return comm_source_fail(err, fd, "the kernel does not let commd count %s: %s", name,
					strerror(-fd));
	return comm_source_fail(
		err, fd,
		"no processor of this machine counts %s (a virtual machine without a "
		"PMU?); perf's software events count anywhere, such as page-faults",
		name);
}

/* libpfm4's own events of a core's counters; others' (uncore, RAPL) belong to no thread. */
static bool counts_threads(const pfm_pmu_info_t *pmu)
{
	return pmu->is_present &&
	       (pmu->type == PFM_PMU_TYPE_CORE || pmu->pmu == PFM_PMU_PERF_EVENT);
}

void comm_counter_event_say(FILE *out)
{
	pfm_pmu_info_t pmu;
	char *why = NULL;
	int i;

	if (pfm_initialize() != PFM_SUCCESS) {
		fputs("  counters         libpfm4 does not know this processor\n", out);
		return;
	}
	pfm_for_all_pmus(i)
	{
		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS || !counts_threads(&pmu))
			continue;
		fprintf(out, "  %-16s %s: %d events", pmu.name, pmu.desc, pmu.nevents);
		if (pmu.num_cntrs || pmu.num_fixed_cntrs)
			fprintf(out, ", %d counters and %d of one event each", pmu.num_cntrs,
				pmu.num_fixed_cntrs);
		fputc('\n', out);
	}
	/* libpfm4 goes by the model, also where a hypervisor keeps the counters to itself. */
	if (comm_counter_event_try("cycles", &why))
		fputs("  no counters of the processor are to be had here: perf's software events "
		      "count, such as page-faults\n",
		      out);
	free(why);
}
