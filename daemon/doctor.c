// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"
#include "collectors.h"
#include "companion.h"
#include "counter_event.h"
#include "cycles.h"
#include "fence.h"
#include "preflight.h"
#include "self_test.h"
#include "session.h"
#include "source.h"
#include "trigger.h"

static void say_companion(const struct comm_companion *companion)
{
	char *why = NULL;
	bool works = !companion->probe(&why);

	if (works)
		printf("%s: work%s%s\n", companion->title, why ? "; " : "", why ? why : "");
	else
		printf("%s: %s\n", companion->title, why ? why : "no reason known");
	free(why);
}

/* Says whether a source works, by doing what a run of it does.  Returns whether it does. */
static bool say_source(const struct comm_source *source)
{
	char *why = NULL;
	bool works = source->of_file || !source->probe(&why);

	if (works && source->sampler)
		works = !comm_preflight_source(source, "", &why);
	printf("  %-10s %s%s%s\n", source->name,
	       works ? "works: " : "not here: ", works ? source->help : "",
	       works ? "" : (why ? why : "no reason known"));
	free(why);
	return works;
}

/* The processor's own samples are taken where a test finds them true. */
static void say_precise(const struct comm_source *source)
{
	struct comm_self_test counts = {0};
	char *why = NULL;
	char name[32];
	int err = source->probe_precise(&why);

	snprintf(name, sizeof(name), "%s:%s", source->name, source->precise_arg);
	if (!err)
		err = comm_self_test(source, source->precise_arg, &counts, &why);
	if (err)
		printf("  %-13s not taken: %s\n", name, why ? why : "no reason known");
	else
		printf("  %-13s works: %u loads and %u stores of a process that reads and writes "
		       "at "
		       "known addresses were true, %u wrong\n",
		       name, counts.loads, counts.stores, counts.wrong);
	free(why);
}

/* Of process 1, for it is root's: reading one's own processes needs no capability. */
static void say_memory(void)
{
	char *why = NULL;
	bool works = !comm_preflight_memory(1, &why);

	printf("other users' processes: %s\n",
	       works ? "can be read" : (why ? why : "cannot be read"));
	free(why);
}

static void say_fence(void)
{
	int version = comm_fence_version();

	if (version)
		printf("Landlock: version %d keeps a run to the directory of its store\n", version);
	else
		printf("Landlock: not here, so a run may write what its user may; add landlock to "
		       "the kernel's lsm= parameter\n");
}

static void say_who_sees(const char *before, bool late)
{
	for (const struct comm_source *const *source = comm_sources; *source; source++) {
		const struct comm_sampler *sampler = (*source)->sampler;

		if (!sampler || sampler->late_marks != late)
			continue;
		printf("%s %s", before, (*source)->name);
		before = ",";
	}
}

/* Names of memory the daemon reads by itself, whichever sampler there is. */
static void say_marks(void)
{
	const char *before = "; named memory by";

	say_who_sees("marks of programs: regions, frames and COMM_STOP() are seen by", false);
	say_who_sees("; those that last 0.5 s at least by", true);
	for (const struct comm_source *const *source = comm_sources; *source; source++) {
		if (!(*source)->sampler)
			continue;
		printf("%s %s", before, (*source)->name);
		before = ",";
	}
	printf("\n");
}

static void say_collectors(void)
{
	struct comm_collectors collectors;

	if (comm_collectors_find_marks(&collectors))
		printf("marks of OpenMP (OMPT), ITT and NVTX: %s\n", collectors.marks);
	else
		printf("marks of OpenMP (OMPT), ITT and NVTX: not seen, as libcomm-collect.so is "
		       "not "
		       "installed\n");
	if (comm_collectors_find_allocations(&collectors))
		printf("where memory was allocated, by LD_PRELOAD: %s\n", collectors.allocations);
	else
		printf("where memory was allocated: not known, as libcomm-alloc.so is not "
		       "installed\n");
}

static void say_max_rate(void)
{
	unsigned int rate = comm_perf_max_rate();

	if (!rate || rate >= COMM_PERF_MAX_RATE)
		return;
	printf("kernel.perf_event_max_sample_rate is %u, not %d: the kernel lowers it for "
	       "everybody "
	       "when the interrupts of samples take too long; 'sysctl "
	       "kernel.perf_event_max_sample_rate=%d' sets it back\n",
	       rate, COMM_PERF_MAX_RATE, COMM_PERF_MAX_RATE);
}

int comm_doctor(void)
{
	struct comm_calibration calibration;
	bool usable = false;

	printf("sources, best first:\n");
	for (const struct comm_source *const *source = comm_sources; *source; source++)
		usable |= say_source(*source) && (*source)->sampler;
	printf("samples that the processor takes itself:\n");
	for (const struct comm_source *const *source = comm_sources; *source; source++)
		if ((*source)->precise_arg)
			say_precise(*source);
	say_marks();
	say_collectors();
	say_memory();
	say_fence();
	for (const struct comm_companion *const *c = comm_companion_table; *c; c++)
		say_companion(*c);
	printf("counters of threads, for --events:\n");
	comm_counter_event_say(stdout);
	comm_calibrate(&calibration);
	printf("a sampling interrupt costs %.1f us here%s\n", calibration.interrupt_ns / 1000,
	       calibration.measured ? "" : " (a guess: it could not be measured)");
	say_max_rate();
	printf("a core runs at %.2f cycles/ns\n", comm_cycles_per_ns());
	return usable ? 0 : 1;
}
