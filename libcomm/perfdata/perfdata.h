/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file of `perf record` or `perf mem record` (perf.data), of another machine mostly:
 * its samples of memory accesses as events in order of time, and a view of the processes as
 * they were at the event that was handed out last.  Not for a file's other samples, and not for
 * what only perf can decode (AUX area traces): these are refused.
 *
 * Format: tools/perf/Documentation/perf.data-file-format.txt of the kernel, and
 * perf_event_open(2).  The file is hostile: every length is checked before it is believed.
 * One thread uses it.
 */
#ifndef COMM_PERFDATA_H
#define COMM_PERFDATA_H

#include "event.h"
#include "inspect.h"

struct comm_perfdata;

enum { COMM_PERFDATA_TEXT = 512 };

/* Texts are clean (text.h), "" where the file does not tell. */
struct comm_perfdata_info {
	char host[128], arch[32], cpu[128], cpuid[64];
	char command[COMM_PERFDATA_TEXT]; /* perf's own: "perf mem record ./program" */
	char events[COMM_PERFDATA_TEXT];  /* those that sample accesses, and how often */
	char notes[COMM_PERFDATA_TEXT];	  /* what the events leave open: sentences, or "" */
	uint64_t written_unix_ns;	  /* when the file was written, as its own time says */
	uint64_t duration_ns;		  /* from first to last sample, 0: not told */
};

/* What was passed over that is no loss. */
struct comm_perfdata_passed {
	uint64_t kernel; /* samples of the kernel's code */
	uint64_t other;	 /* of events that sample no accesses, and of what was none */
};

/* On failure *err is a sentence (malloc'ed), or NULL when memory is short. */
int comm_perfdata_open(const char *path, struct comm_perfdata **ret, char **err);
void comm_perfdata_close(struct comm_perfdata *data);
const struct comm_perfdata_info *comm_perfdata_info(const struct comm_perfdata *data);
/* The view, to which no file of this machine is known; it needs no destroying. */
void comm_perfdata_view(struct comm_perfdata *data, struct comm_inspect *ret);
/*
 * The same with the files that are here.  To be called once, before the process is large: it
 * forks the one that reads symbols.
 */
int comm_perfdata_inspect(struct comm_perfdata *data, struct comm_inspect *ret);

/* The next event: 1; 0: there is none; an error as from comm_perfdata_open(). */
int comm_perfdata_next(struct comm_perfdata *data, struct comm_event *ret, char **err);
/* After the last event: when it was, and whether the file ends before the data do. */
uint64_t comm_perfdata_end_ns(const struct comm_perfdata *data);
bool comm_perfdata_cut(const struct comm_perfdata *data);
void comm_perfdata_passed(const struct comm_perfdata *data, struct comm_perfdata_passed *ret);
/* How many files with sampled code are not on this machine; *ret_path: the first. */
uint64_t comm_perfdata_absent(const struct comm_perfdata *data, const char **ret_path);

#endif
