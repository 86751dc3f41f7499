/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Precise memory samples (PEBS, IBS) of every CPU through perf's descriptors: for the
 * perf source, which has rings of its own for everything else.
 *
 * Intel's PEBS writes its records into a buffer of the kernel, which is drained when it
 * is full, at a context switch and when the event's count is read: many records for one
 * interrupt.  perf does so only for events of a fixed period, without wakeup_events,
 * without another clock, and of certain fields (LARGE_PEBS_FLAGS in
 * arch/x86/events/perf_event.h); those asked for here are among them.
 *
 * One thread uses it.
 */
#ifndef COMMD_PERF_PRECISE_H
#define COMMD_PERF_PRECISE_H

#include "hotplug.h"
#include "merge.h"
#include "pmu_event.h"
#include "sampler.h"

struct comm_perf_precise;

/* Can this process have such events here, now?  -errno and a sentence, if not. */
int comm_perf_precise_probe(enum comm_pmu_want want, char **why);
/* period 0: the default. */
int comm_perf_precise_open(enum comm_pmu_want want, uint64_t period, struct comm_perf_precise **ret,
			   char **err);
void comm_perf_precise_close(struct comm_perf_precise *precise);
const char *comm_perf_precise_name(const struct comm_perf_precise *precise);
uint64_t comm_perf_precise_period(const struct comm_perf_precise *precise);
unsigned int comm_perf_precise_fds(const struct comm_perf_precise *precise);

/*
 * Adds its events to the list, the first ones of it: 0, or -ENOSPC.  Then what struct comm_hotplug_ops says of
 * each of them is for these two.
 */
int comm_perf_precise_list(const struct comm_perf_precise *precise, struct comm_hotplug *list);
void comm_perf_precise_gone(struct comm_perf_precise *precise, unsigned int cpu);
bool comm_perf_precise_back(struct comm_perf_precise *precise, unsigned int event, unsigned int cpu,
			    int fd);
unsigned int comm_perf_precise_events(const struct comm_perf_precise *precise);

int comm_perf_precise_start(struct comm_perf_precise *precise, char **err);
void comm_perf_precise_stop(struct comm_perf_precise *precise);
int comm_perf_precise_set_rate(struct comm_perf_precise *precise,
			       const struct comm_sampler_rate *rate);
/*
 * Pushes an ACCESS for each sample of user code of any process, followed by a SAMPLE
 * where its flags have COMM_ACCESS_BURST.
 */
void comm_perf_precise_drain(struct comm_perf_precise *precise, comm_event_fn *push, void *ctx);
/* Adds to interrupts, handler_ns and loss. */
void comm_perf_precise_stats(const struct comm_perf_precise *precise,
			     struct comm_sampler_stats *add_to);

#endif
