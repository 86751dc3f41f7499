/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counter events: what --events may name, libpfm4's names and perf's, as the kernel takes them;
 * and which counters each kind of core of this machine has, for --doctor.
 */
#ifndef COMM_COUNTER_EVENT_H
#define COMM_COUNTER_EVENT_H

#include <linux/perf_event.h>
#include <stdio.h>

/*
 * Fills in *ret to count the event, in the kernel too, unless the name says otherwise
 * ("instructions:u").  "r1a8" is a raw code.  -ENOENT, and *err is a sentence: nobody knows it.
 */
int comm_counter_event(const char *name, struct perf_event_attr *ret, char **err);

/*
 * Can this process count it on a CPU of this machine?  0, or -errno and a sentence.
 */
int comm_counter_event_try(const char *name, char **err);

/* A line for each kind of core: its counters, and how many events libpfm4 knows for it. */
void comm_counter_event_say(FILE *out);

#endif
