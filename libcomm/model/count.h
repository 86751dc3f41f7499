/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts: how much of a counter, CPU time or page faults or instructions, fell to a thread, or
 * to a thread inside a marked region.  The engine sums them for a slice and the store for wider
 * ones.  Not for what is estimated from bursts: that is edges.  One thread uses a table.
 */
#ifndef COMM_COUNT_H
#define COMM_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keyed.h"

enum {
	COMM_COUNTER_BYTES = 64, /* of a counter's name, with its NUL */
	COMM_COUNTERS_MAX = 32,	 /* of a run */
};

/* Names of counters, of which each kind of unit ends alike: times are ns, and end so. */
#define COMM_COUNTER_CPU "cpu-time-ns"
#define COMM_COUNTER_WAIT "wait-time-ns"
#define COMM_COUNTER_BLOCKED "blocked-time-ns"
#define COMM_COUNTER_VOLUNTARY "voluntary-switches"
#define COMM_COUNTER_INVOLUNTARY "involuntary-switches"
#define COMM_COUNTER_MIGRATIONS "migrations"
/* What the samples in a region stand for, and, of region 0, those outside of all regions. */
#define COMM_COUNTER_SAMPLED "sampled"
/* Frames that began in a process (frame.h), of its main thread. */
#define COMM_COUNTER_FRAMES "frames"
/* As perf calls the event; reports tell bytes by it. */
#define COMM_COUNTER_INSTRUCTIONS "instructions"
/* Of memory, as libcomm-exact counts them. */
#define COMM_COUNTER_ACCESSES "accesses"

struct comm_count {
	uint32_t thread;
	uint32_t region;  /* 0: the thread in all, but for COMM_COUNTER_SAMPLED */
	uint32_t counter; /* index or id of a name, as the user of the table says */
	double value;	  /* scaled, where the PMU had more to count than it has counters */
	uint64_t enabled_ns, running_ns; /* of value: how long asked for, and counted; 0: always */
	double share;			 /* the aggregate's own */
};

/* By thread, region and counter. */
struct comm_counts {
	COMM_KEYED(keyed, struct comm_count, count, n);
};

/*
 * Whether the counter is of when a thread does not run: what it waits, switches and migrations, ours or perf's by any of
 * its names.
 */
bool comm_counter_is_off_cpu(const char *name);

/* A zeroed table is an empty one; deinit leaves it so. */
void comm_counts_deinit(struct comm_counts *table);
void comm_counts_clear(struct comm_counts *table);
/* -ENOMEM. */
int comm_counts_add(struct comm_counts *table, const struct comm_count *count);
/*
 * Keeps the cap counts that are the largest shares of all threads' of their counter, and adds
 * the others to thread COMM_ID_OTHER, outside of regions, so no sum of a counter changes.
 * *ret_folded grows by those that lost their thread.
 */
void comm_counts_fold(struct comm_counts *table, size_t cap, uint64_t *ret_folded);
/* Orders by thread, region and counter. */
void comm_counts_sort(struct comm_counts *table);

#endif
