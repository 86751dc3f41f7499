/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a perf.data: their attributes, the ids by which records name them, and
 * which of them sample memory accesses.  The file is hostile.  One thread uses it.
 */
#ifndef COMM_PERFDATA_EVENTS_H
#define COMM_PERFDATA_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm_perfdata_event {
	struct perf_event_attr attr; /* fields that the file does not have are 0 */
	char name[96];		     /* "cpu/mem-loads,ldlat=30/P"; "" until it is told */
	/* Set by comm_perfdata_events_look(): */
	bool accesses;	 /* its samples may be memory accesses with their addresses */
	uint16_t ways;	 /* COMM_ACCESS_READ or COMM_ACCESS_WRITE, as far as the event tells */
	bool says_exact; /* its samples say whether their ip is exact; others' always is */
	bool all;	 /* it counts all loads, or all stores: bursts may follow its samples */
	bool latency;	 /* it picks loads at random: a sample stands for no number of them */
};

struct comm_perfdata_events {
	struct comm_perfdata_event *event;
	size_t n;
	struct comm_perfdata_id *id; /* in ascending order, once looked */
	size_t n_ids, ids_capacity;
	int from_start, from_end; /* where records have the id, see sample.h; <0: nowhere */
};

enum {
	COMM_PERFDATA_EVENTS_MAX = 4096,
	COMM_PERFDATA_IDS_MAX = 1 << 20,
	COMM_PERFDATA_ATTR_MIN = 64, /* bytes of the first perf_event_attr there was */
};

struct comm_perfdata_id {
	uint64_t id;
	uint32_t event;
};

void comm_perfdata_events_deinit(struct comm_perfdata_events *events);
/* -ENOSPC: too many; -ENOMEM. */
int comm_perfdata_events_add(struct comm_perfdata_events *events, const void *attr, size_t bytes);
/* An id of the event that was added last; likewise. */
int comm_perfdata_events_add_id(struct comm_perfdata_events *events, uint64_t id);
void comm_perfdata_events_name(struct comm_perfdata_events *events, size_t nth, const char *name,
			       size_t bytes);
/*
 * All are known: finds out which sample accesses.  cpuid: as perf has it, "" when unknown.
 * -EINVAL: records do not tell which event they are of.
 */
int comm_perfdata_events_look(struct comm_perfdata_events *events, const char *cpuid);

/* The event of a sample, or of another record; NULL: of none.  What has no id is the first's. */
const struct comm_perfdata_event *comm_perfdata_events_of(const struct comm_perfdata_events *events,
							  bool is_sample, const void *body,
							  size_t bytes);

#endif
