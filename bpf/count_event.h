/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs count of each thread, in a map that the daemon reads once a slice.
 * Private to one build of the daemon, as sample_event.h.  Includes nothing.
 */
#ifndef COMM_COUNT_EVENT_H
#define COMM_COUNT_EVENT_H

/* The kernel keeps these totals of each thread anyway. */
enum comm_raw_counter {
	COMM_RAW_CPU_NS,
	COMM_RAW_WAIT_NS, /* ready to run, and not running */
	COMM_RAW_VOLUNTARY,
	COMM_RAW_INVOLUNTARY,
	COMM_RAW_MINOR_FAULTS,
	COMM_RAW_MAJOR_FAULTS,
	COMM_RAW_MIGRATIONS,
	COMM_RAW_COUNTERS,
};

enum {
	COMM_RAW_EVENTS_MAX = 8, /* perf events counted at once */
	COMM_RAW_COUNTED_MAX = 16384,
};

struct comm_raw_event_count {
	unsigned long long value, enabled_ns, running_ns;
};

/* Of a thread, by tid. */
struct comm_raw_counts {
	unsigned long long start_ns; /* of the thread: a tid comes again */
	unsigned long long from_ns;  /* counted since */
	unsigned long long to_ns;    /* the values are as of then */
	unsigned int tgid;
	unsigned short ended;			    /* nothing more will come of it */
	unsigned short asleep;			    /* at to_ns */
	unsigned long long base[COMM_RAW_COUNTERS]; /* what it had at from_ns */
	unsigned long long value[COMM_RAW_COUNTERS];
	struct comm_raw_event_count event[COMM_RAW_EVENTS_MAX];
};

_Static_assert(sizeof(struct comm_raw_counts) == 336, "layout of both sides");

#endif
