/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records in perf's ring that are no samples, as events: the life cycle of threads
 * (fork, exec, exit, renaming), mappings and switches.  For rings with sample_id_all
 * and PERF_SAMPLE_TID, TIME and CPU (perf_event_open(2)).  The caller checks whether
 * a record's process is a target.  Any thread may call.
 */
#ifndef COMM_PERF_LIFE_H
#define COMM_PERF_LIFE_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "event.h"

/* PERF_RECORD_FORK, EXIT, COMM, MMAP; false: another kind, or too short. */
bool comm_perf_life_event(const struct perf_event_header *record, struct comm_event *ret);
/*
 * PERF_RECORD_SWITCH_CPU_WIDE of the thread that leaves a CPU, which names the next
 * thread, too; false: the switch's second record, of the thread that comes.
 */
bool comm_perf_life_switch(const struct perf_event_header *record, struct comm_event *ret);
/* False: shorter than records of its type are.  The kernel writes none such. */
bool comm_perf_life_whole(const struct perf_event_header *record);

#endif
