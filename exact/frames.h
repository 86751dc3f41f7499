/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds of functions that have no symbol, by the search table of .eh_frame_hdr, which stripped files keep, as
 * unwinding needs it (Linux Standard Base Core 5.0, 10.6.2).  Read in the target's own mapping of the file.
 */
#ifndef COMM_EXACT_FRAMES_H
#define COMM_EXACT_FRAMES_H

#include "pub_tool_basics.h"

/* The function around a run-time address: *start as run-time address, *file_start as the file's own. */
Bool comm_frames_function(Addr ip, Addr *start, ULong *file_start);

#endif
