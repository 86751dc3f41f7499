// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intel's precise loads and stores.  Which event, which counter, which of a
 * hybrid machine's two PMUs: all that is in type and config, which user space
 * takes from sysfs; a CPU that the PMU does not serve says -ENOENT and is left
 * to another source of the session.
 */
#include "source.h"

enum { PRECISE_LEVELS = 3 };

static int probe(const struct cp_source *config)
{
	return config->stack_bytes || config->chunk_bytes || config->depth || config->max_accesses
		       ? -EINVAL
		       : 0;
}

/*
 * Attempts: with data source at precise_ip 3, 2, 1, then the same without.  On
 * Alder Lake P and Sapphire Rapids a load with data source wants an auxiliary
 * event before it in its group (-ENODATA otherwise), and a kernel counter cannot
 * be in a group: there the address comes without the data source.
 */
static int fill_attr(const struct cp_source *config, u32 attempt, struct perf_event_attr *attr)
{
	attr->precise_ip = PRECISE_LEVELS - attempt % PRECISE_LEVELS;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			    PERF_SAMPLE_WEIGHT;
	if (attempt < PRECISE_LEVELS)
		attr->sample_type |= PERF_SAMPLE_DATA_SRC;
	/* One record per interrupt: of a larger batch we would see the last only. */
	attr->wakeup_events = 1;
	return 0;
}

const struct cp_source_ops cp_source_pebs = {
	.name = "pebs",
	.period_step = 1,
	.flags = CP_SOURCE_KERNEL,
	.attempts = 2 * PRECISE_LEVELS,
	.fill_attr = fill_attr,
	.probe = probe,
	.decode = cp_hit_precise,
};
