/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders events of several streams by time.  The owner drains every stream,
 * having read the clock first (the cut): whatever happened before the cut has
 * then been pushed, but for a few stragglers.  Events older than the watermark
 * (the cut less a margin) are handed on in order; one that comes after the
 * watermark has passed it is dropped and counted.  The margin grows when that
 * happens (a host may steal the CPU between an event's stamp and its push) and
 * shrinks back slowly.
 *
 * Method: perf's ordered-events and its flush rounds, here with a time margin.
 */
#ifndef COMM_MERGE_H
#define COMM_MERGE_H

#include "event.h"

struct comm_merge;

typedef void comm_event_fn(void *ctx, const struct comm_event *event);

int comm_merge_create(comm_event_fn *deliver, void *ctx, struct comm_merge **ret);
void comm_merge_destroy(struct comm_merge *merge);

/* Copies the event into the merge, or counts it as lost. */
void comm_merge_push(struct comm_merge *merge, const struct comm_event *event);
/* Delivers all events older than cut_ns less the margin. */
void comm_merge_cut(struct comm_merge *merge, uint64_t cut_ns);
/* The streams have ended: delivers the rest. */
void comm_merge_flush(struct comm_merge *merge);

/*
 * The run has an end that must not wait for what is queued: as soon as is_over() says so,
 * events are dropped and counted instead of delivered, but for what tells of costs and losses.
 */
void comm_merge_until(struct comm_merge *merge, bool (*is_over)(void *ctx));
/* Events that were dropped since is_over() said so. */
uint64_t comm_merge_unfinished(const struct comm_merge *merge);

/* The watermark: all events older than it have been delivered. */
uint64_t comm_merge_passed_ns(const struct comm_merge *merge);
/* Events that were not delivered: late, or there was no memory for them. */
uint64_t comm_merge_late(const struct comm_merge *merge);
uint64_t comm_merge_margin_ns(const struct comm_merge *merge);

#endif
