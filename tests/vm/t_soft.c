// SPDX-License-Identifier: GPL-2.0-or-later
/* The software source: addresses, from timer interrupts and from NMIs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code.h"
#include "cptest.h"

struct tally {
	const struct code *code;
	pid_t tgid;
	uint64_t n, wrong, strange, contexts[2], cpus[64], first, next[2][64], disorder;
};

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_access *access = (const void *)record;
	const struct code_truth *truth;

	if (record->time_ns < tally->next[record->context][record->cpu])
		tally->disorder++;
	tally->next[record->context][record->cpu] = record->time_ns;
	if (record->type != CP_REC_ACCESS || record->tgid != (uint32_t)tally->tgid ||
	    record->tid != (uint32_t)tally->tgid || strcmp(record->comm, "cptest")) {
		tally->strange++;
		return;
	}
	truth = code_find(tally->code, access->ip);
	if (!truth) {
		/* The few instructions before the code is entered. */
		tally->first++;
		return;
	}
	tally->n++;
	tally->contexts[record->context]++;
	tally->cpus[record->cpu]++;
	if (truth->addr != access->addr || truth->size_bytes != access->size_bytes ||
	    truth->flags != access->flags)
		tally->wrong++;
}

static void exact(const char *name, uint32_t type, uint64_t config, uint64_t period, int context,
		  uint64_t least)
{
	struct code code = code_make(4096);
	struct tally tally = {.code = &code};
	struct cp_stats stats;
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES | CP_SOURCE_JITTER,
		.type = type,
		.config = config,
		.period = period,
		.max_accesses = 16,
	};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_reader *reader;
	pid_t pid[2];
	int err;

	/* Two processes, of which only the first is a target. */
	for (int i = 0; i < 2; i++)
		pid[i] = spawn(code_run, &code);
	tally.tgid = pid[0];
	reader = session(pid[0]);
	cp_reader_budget(reader, &budget);
	err = cp_reader_source(reader, &source);
	if (err) {
		check(false, name, "source: %s", strerror(-err));
		goto out;
	}
	run_until(reader, 1500, take, &tally, &tally.n, least);
	cp_reader_stats(reader, &stats);
	check(tally.n >= least && !tally.wrong && !tally.strange && tally.first < 100 &&
		      !tally.disorder && tally.contexts[context] == tally.n &&
		      !stats.lost[CP_LOST_UNDECODED] && !stats.lost[CP_LOST_RING_FULL] &&
		      !cp_reader_malformed(reader),
	      name,
	      "%lu addresses, %lu wrong, %lu strange, %lu disordered, %llu interrupts, %llu "
	      "samples, "
	      "lost: full %llu nested %llu budget %llu text %llu undecoded %llu",
	      tally.n, tally.wrong, tally.strange, tally.disorder, stats.interrupts, stats.samples,
	      stats.lost[CP_LOST_RING_FULL], stats.lost[CP_LOST_NESTED], stats.lost[CP_LOST_BUDGET],
	      stats.lost[CP_LOST_NO_TEXT], stats.lost[CP_LOST_UNDECODED]);
out:
	reap(pid[0]);
	reap(pid[1]);
	cp_reader_destroy(reader);
}

void test_soft(void)
{
	/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK */
	exact("soft: addresses exact from the timer", 1, 0, 200000, CP_CONTEXT_IRQ, 20000);
}

/* As many as tell that it works, where a debug kernel takes its time for each. */
void test_after(void)
{
	exact("soft: addresses exact after all that", 1, 0, 200000, CP_CONTEXT_IRQ, 1000);
}

void test_nmi(void)
{
	int type = pmu_type("standin");

	if (type < 0) {
		check(false, "nmi", "no stand-in PMU");
		return;
	}
	exact("soft: addresses exact from NMIs", type, 0, 1000000, CP_CONTEXT_NMI, 6000);
}
