/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a live run, on their way: what the source tells and those beside it passes the gate, is put in order
 * of time, and goes to the engine, to companions and into the recording.  Not for who is asked for events, and when:
 * that is live.c's.  One thread uses it.
 */
#ifndef COMMD_LIVE_EVENTS_H
#define COMMD_LIVE_EVENTS_H

#include "companion.h"
#include "gate.h"
#include "live_source.h"
#include "merge.h"
#include "record.h"
#include "session.h"

/* What is queued when the run's time is over may take so long; the rest is counted. */
enum { COMM_LIVE_LAST_NS = 300 * 1000 * 1000 };

/* The owner sets the members above merge, and keeps them, before the first event. */
struct comm_live_events {
	const struct comm_live_source *source;
	const struct comm_session *session;
	struct comm_companions *companions;
	struct comm_record *record; /* NULL: none */
	uint64_t end_ns;	    /* of the run; UINT64_MAX: none is set */
	struct comm_merge *merge;
	struct comm_gate gate;
	uint64_t told[COMM_LOSS_MAX]; /* losses, so far */
};

/* -ENOMEM. */
int comm_live_events_open(struct comm_live_events *events);
void comm_live_events_close(struct comm_live_events *events);
/* A comm_event_fn: ctx is a struct comm_live_events. */
void comm_live_events_push(void *ctx, const struct comm_event *event);
/* A running total of what was lost: pushes by how much it has grown. */
void comm_live_events_lost(struct comm_live_events *events, uint64_t now_ns, enum comm_loss cause,
			   uint64_t total);
/* All that happened before has been pushed, but for stragglers (merge.h): it goes on. */
void comm_live_events_cut(struct comm_live_events *events, uint64_t cut_ns);
/* No more are pushed: the rest goes on.  Returns when that was done, which ends the run. */
uint64_t comm_live_events_finish(struct comm_live_events *events);

#endif
