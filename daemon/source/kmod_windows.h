/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The module's windows (commprof.h, WINDOWS): records of one window come from the rings of all CPUs that trapped, and
 * are put together when it is over: who wrote last before each read, as COMM_EV_FED.
 *
 * A window stands for the read that it was opened on: for what was read while the sample's period passed,
 * if an instruction takes a cycle, and for its part of the reads that got none, as they come when a slot is free.
 * Of those that nobody wrote within the module's time, nothing is told: the data is not fresh.
 *
 * What it is not for: windows that commd arms itself (register_window.h).  One thread uses it.
 */
#ifndef COMMD_KMOD_WINDOWS_H
#define COMMD_KMOD_WINDOWS_H

#include <stdbool.h>

#include "commprof.h"
#include "merge.h"
#include "window_pairs.h"

enum { COMM_KMOD_WINDOWS_KEPT = 256, COMM_KMOD_WINDOWS_ENDED = 64 };

/* An access in a window, and what is known of the write before it. */
struct comm_kmod_access {
	uint64_t opened_ns; /* of which window; of its first write, when its read was sampled */
	uint64_t ip;	    /* likewise, of that read */
	struct comm_window_access write, access;
	bool is_first;
};

struct comm_kmod_windows {
	struct comm_kmod_access kept[COMM_KMOD_WINDOWS_KEPT]; /* the oldest give way */
	uint64_t n_kept;
	struct cp_window ended[COMM_KMOD_WINDOWS_ENDED];
	unsigned int n_ended;
	struct comm_window_pairs pairs;
	uint32_t number;
	uint64_t n_records;
	uint64_t lost; /* windows whose records did not all come */
};

/* Of a zeroed one.  0 or -ENOMEM. */
int comm_kmod_windows_init(struct comm_kmod_windows *windows);
void comm_kmod_windows_deinit(struct comm_kmod_windows *windows);

/* False: it is none of windows, or too short for one. */
bool comm_kmod_windows_record(struct comm_kmod_windows *windows, const struct cp_record *record);
/*
 * All rings were read.  Pushes the events of windows that are over, each of which stands for offered reads.
 * Returns how many events.
 */
int comm_kmod_windows_settle(struct comm_kmod_windows *windows, double offered, uint64_t now_ns,
			     comm_event_fn *push, void *ctx);

#endif
