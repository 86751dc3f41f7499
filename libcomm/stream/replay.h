/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a recording (record.h): its events in order, and a view of the target
 * that gives the recorded answers.  The engine processes the events.
 *
 * The file is hostile: every length is checked before it is believed.  A record
 * of an unknown kind comes out as an event COMM_EV_LOSS with the cause
 * COMM_LOSS_UNKNOWN, so that it is counted like any other loss.
 */
#ifndef COMM_REPLAY_H
#define COMM_REPLAY_H

#include "event.h"
#include "inspect.h"
#include "record.h"

struct comm_replay;

/* Opens a recording; comm_replay_strerror() explains the -errno that it fails with. */
int comm_replay_open(const char *path, struct comm_replay **ret);
/* A predicate about the file, "is ..." or "was ..."; NULL: strerror() explains err as well. */
const char *comm_replay_strerror(int err);
const struct comm_record_head *comm_replay_head(const struct comm_replay *replay);
void comm_replay_inspect(struct comm_replay *replay, struct comm_inspect *ret);
/* The next event: 1; 0: there is none; -EBADMSG: damaged, -EIO, -ENOMEM. */
int comm_replay_next(struct comm_replay *replay, struct comm_event *ret);
/* When the run ended; the last event's time if the recording was cut short. */
uint64_t comm_replay_end_ns(const struct comm_replay *replay);
/* After the last event: the file ends before the recording does. */
bool comm_replay_cut(const struct comm_replay *replay);
void comm_replay_close(struct comm_replay *replay);

#endif
