/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the result file (libcomm/exact/format.h).  Edges are written phase by
 * phase, dictionaries at the end.
 */
#ifndef COMM_EXACT_OUTPUT_H
#define COMM_EXACT_OUTPUT_H

#include "pub_tool_basics.h"

struct comm_trace;

struct comm_vg_thread {
	UInt number; /* dense, from 0 */
	UInt tid;
	ULong start_ns, end_ns;
	HChar name[16];
};

/* Begins the file.  path as given: %p is the process id, %q{VAR} a variable. */
void comm_output_init(struct comm_trace *trace, const HChar *path);
ULong comm_output_now_ns(void);
/* Ends the phase at hand and begins the next; an empty one is not written. */
void comm_output_phase(const HChar *next_name);
void comm_output_finish(const struct comm_vg_thread *threads, UInt n_threads);
/* In a forked child: nothing counted yet, a file of its own. */
void comm_output_forked(void);

#endif
