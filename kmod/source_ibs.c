// SPDX-License-Identifier: GPL-2.0-only
/*
 * AMD's instruction based sampling of ops: loads and stores of one event.  The
 * period is a multiple of 16.  Without swfilt the PMU refuses exclude_kernel, so
 * it samples both and cp_hit_precise() drops the kernel's.
 *
 * Where a load found its data is what the kernel's driver makes of IBS' registers; it heeds
 * erratum 1293 of Zen 3, whose registers tell no level of prefetches and of misses without a
 * buffer.
 *
 * No bursts: regs has the op's ip and the interrupt's registers, some instructions
 * later.
 */
#include <linux/sched.h>

#include "source.h"

enum {
	PERIOD_STEP = 16,
	MIN_PERIOD = 0x90, /* the kernel's own least */
};

static int cp_ibs_probe(const struct cp_source *config)
{
	if (config->stack_bytes || config->chunk_bytes || config->depth || config->max_accesses)
		return -EINVAL;
	return config->period < MIN_PERIOD ? -EINVAL : 0;
}

static int cp_ibs_fill_attr(const struct cp_source *config, u32 attempt,
			    struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT;
	if (!(config->flags & CP_SOURCE_SWFILT))
		attr->exclude_kernel = 0;
	attr->exclude_hv = 0;
	attr->exclude_guest = 0; /* refused, swfilt or not */
	return 0;
}

static void cp_ibs_decode(struct cp_hit *hit)
{
	/*
	 * The PMU cannot leave guests out.  KVM's threads have this flag from before they enter
	 * the guest until after the interrupt that a guest's op gives.
	 */
	if (current->flags & PF_VCPU)
		return;
	/* The driver drops samples itself, and counts their intervals: it knows this one's. */
	hit->period = hit->data->period;
	/* Most ops are neither: that is not a loss. */
	if (!(hit->data->sample_flags & PERF_SAMPLE_DATA_SRC) ||
	    !(hit->data->data_src.mem_op & (PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE)))
		return;
	cp_hit_precise(hit);
}

const struct cp_source_ops cp_source_ibs = {
	.name = "ibs",
	.period_step = PERIOD_STEP,
	.flags = CP_SOURCE_KERNEL | CP_SOURCE_SWFILT,
	.attempts = 1,
	.fill_attr = cp_ibs_fill_attr,
	.probe = cp_ibs_probe,
	.decode = cp_ibs_decode,
};
