// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intel's precise loads and stores.  Which event, which counter, which of a
 * hybrid machine's two PMUs: all that is in type and config, which user space
 * takes from sysfs; a CPU that the PMU does not serve says -ENOENT and is left
 * to another source of the session.
 */
#include <linux/bits.h>

#include <asm/perf_regs.h>

#include "source.h"

/*
 * Level 3 asks for the least shadowed counter (PDIR), of which there is one: on Sapphire
 * Rapids and Alder Lake it sends every event to counter 0, where loads and stores
 * then take turns.  Level 1 has the address of the next instruction.
 */
enum { PRECISE_LEVEL = 2 };

enum {
	GENERAL_REGISTERS = BIT(PERF_REG_X86_AX) | BIT(PERF_REG_X86_BX) | BIT(PERF_REG_X86_CX) |
			    BIT(PERF_REG_X86_DX) | BIT(PERF_REG_X86_SI) | BIT(PERF_REG_X86_DI) |
			    BIT(PERF_REG_X86_BP) | BIT(PERF_REG_X86_SP) | BIT(PERF_REG_X86_FLAGS) |
			    BIT(PERF_REG_X86_R8) | BIT(PERF_REG_X86_R9) | BIT(PERF_REG_X86_R10) |
			    BIT(PERF_REG_X86_R11) | BIT(PERF_REG_X86_R12) | BIT(PERF_REG_X86_R13) |
			    BIT(PERF_REG_X86_R14) | BIT(PERF_REG_X86_R15),
};

static int cp_pebs_probe(const struct cp_source *config)
{
	bool both = config->flags & CP_SOURCE_LOADS && config->flags & CP_SOURCE_STORES;

	return both || config->stack_bytes || config->chunk_bytes || config->depth ||
			       config->max_accesses
		       ? -EINVAL
		       : 0;
}

/*
 * Attempts: with data source, then without.  On Alder Lake P and Sapphire Rapids a
 * load with data source wants an auxiliary event before it in its group (-ENODATA
 * otherwise), and a kernel counter cannot be in a group: there the address comes
 * without the data source.
 */
static int cp_pebs_fill_attr(const struct cp_source *config, u32 attempt,
			     struct perf_event_attr *attr)
{
	attr->precise_ip = PRECISE_LEVEL;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			    PERF_SAMPLE_WEIGHT;
	if (!attempt)
		attr->sample_type |= PERF_SAMPLE_DATA_SRC;
	/* Unasked, regs has the interrupt's registers beside the record's ip. */
	if (config->flags & CP_SOURCE_BURST) {
		attr->sample_type |= PERF_SAMPLE_REGS_INTR;
		attr->sample_regs_intr = GENERAL_REGISTERS;
	}
	/* One record per interrupt: of a larger batch we would see the last only. */
	attr->wakeup_events = 1;
	return 0;
}

const struct cp_source_ops cp_source_pebs = {
	.name = "pebs",
	.period_step = 1,
	.flags = CP_SOURCE_KERNEL | CP_SOURCE_BURST | CP_SOURCE_LOADS | CP_SOURCE_STORES,
	.attempts = 2,
	.fill_attr = cp_pebs_fill_attr,
	.probe = cp_pebs_probe,
	.decode = cp_hit_precise,
};
