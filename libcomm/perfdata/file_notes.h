/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes: which events a file has, and what it leaves open, as a person reads it in a report.  Not
 * for what refuses a file.
 */
#ifndef COMM_PERFDATA_NOTES_H
#define COMM_PERFDATA_NOTES_H

#include "events.h"
#include "perfdata.h"

/* Adds to the texts events and notes; comm_perfdata_events_look() has looked at the events. */
void comm_perfdata_notes(const struct comm_perfdata_events *events,
			 struct comm_perfdata_info *info);

#endif
