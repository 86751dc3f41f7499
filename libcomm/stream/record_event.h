/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as records of a recording: how record.h writes them and replay.h reads
 * them.  Each field is written by itself: struct comm_event may change its layout.
 */
#ifndef COMM_RECORD_EVENT_H
#define COMM_RECORD_EVENT_H

#include "event.h"
#include "record_bytes.h"
#include "record_format.h"

/* Appends the event's fields; returns its kind of record, 0: the format has no such kind. */
uint32_t comm_event_write(struct comm_bytes *to, const struct comm_event *event);
/*
 * Reads an event; that of a SAMPLE points to *sample.  -EBADMSG: damaged; -ENOTSUP: a kind
 * of record or of loss that this program does not know.
 */
int comm_event_read(uint32_t record_kind, struct comm_cursor *from, struct comm_event *ret,
		    struct comm_sample *sample);

#endif
