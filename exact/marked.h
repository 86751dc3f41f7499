/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which modules of the target make marks (comm/mark.h), and where these stand: by an ELF note, as samples find
 * them.  Of several modules that do not share their marks the program's are seen, or those of the first one met.
 */
#ifndef COMM_EXACT_MARKED_H
#define COMM_EXACT_MARKED_H

#include "pub_tool_basics.h"

struct comm_tool_marks_place;
struct comm_trace;

void comm_marked_init(struct comm_trace *trace);
/* Whether code there may make marks: its stores are to be told. */
Bool comm_marked_code(Addr ip);
/* That thread runs now. */
void comm_marked_thread(ThreadId tid);
/* Modules there are none any more. */
void comm_marked_unmapped(Addr start, SizeT bytes);

#endif
