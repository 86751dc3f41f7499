/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the result file (libcomm/exact/format.h).  Edges are written phase by
 * phase, dictionaries at the end.  One process writes it, of all that came from it by fork().
 */
#ifndef COMM_EXACT_OUTPUT_H
#define COMM_EXACT_OUTPUT_H

#include "pub_tool_basics.h"

struct comm_array;
struct comm_trace;

struct comm_vg_thread {
	UInt number; /* dense, from 0 */
	UInt tid, pid;
	ULong start_ns, end_ns;
	HChar name[16];
};

/* Begins the file.  threads: of all processes.  path as given: %p is the process id, %q{VAR} a variable. */
void comm_output_init(struct comm_trace *trace, const struct comm_array *threads,
		      const HChar *path);
ULong comm_output_now_ns(void);
/* Ends the phase at hand and begins the next; an empty one is not written.  next_name NULL: it goes on, under its name. */
void comm_output_phase(const HChar *next_name);
void comm_output_finish(void);
/* In a child of fork(): what it counts stands in its first ancestor's file. */
void comm_output_forked(void);

#endif
