/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of perf on every thread of a target and every CPU, with inheritance: the
 * only form in which an unprivileged user may have threads that are created later in
 * a ring.  Setting a period does not reach the inherited copies, so for a new rate
 * all events are reopened, now and then.
 *
 * One thread uses it.
 */
#ifndef COMM_PERF_THREADS_H
#define COMM_PERF_THREADS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_rings.h"
#include "target.h"

struct comm_perf_threads;

struct comm_perf_threads_config {
	struct comm_target *target;
	const char *name;		    /* of the event, in error messages */
	const struct comm_cpu_rings *rings; /* the records go there; they outlive the events */
};

/* Opens nothing yet.  -ENOMEM. */
int comm_perf_threads_create(const struct comm_perf_threads_config *config,
			     struct comm_perf_threads **ret);
void comm_perf_threads_destroy(struct comm_perf_threads *threads);

/*
 * Opens events for all threads there are now, then closes the earlier ones; on
 * failure the earlier ones stay open.  After enable, new events are enabled at once.
 */
int comm_perf_threads_open(struct comm_perf_threads *threads, const struct perf_event_attr *attr,
			   char **err);
/*
 * Opening costs time: is the change of the period worth it, and was the last opening
 * long enough ago?
 */
bool comm_perf_threads_worth_opening(const struct comm_perf_threads *threads, uint64_t old_period,
				     uint64_t period);
void comm_perf_threads_enable(struct comm_perf_threads *threads);
void comm_perf_threads_disable(struct comm_perf_threads *threads);
/* Number of open file descriptors. */
size_t comm_perf_threads_count(const struct comm_perf_threads *threads);
/* Processes that came to be members and may not be watched; of those there are at the first opening one is an error. */
uint64_t comm_perf_threads_refused(const struct comm_perf_threads *threads);

#endif
