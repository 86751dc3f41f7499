/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From Valgrind's intermediate code to segments (trace.h): gathers the memory
 * accesses of a superblock, merges neighbours, and adds the stores that report
 * them at run time.
 */
#ifndef COMM_EXACT_INSTRUMENT_H
#define COMM_EXACT_INSTRUMENT_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

struct comm_trace;

/* function: reads count in functions of that name or pattern alone; NULL: in all. */
void comm_instrument_init(struct comm_trace *trace, const HChar *function);
/* Whether reads count there. */
Bool comm_instrument_reads(UInt site);
IRSB *comm_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
		      const VexGuestExtents *extents, const VexArchInfo *arch, IRType guest_word,
		      IRType host_word);
void comm_instrument_discard(Addr start, VexGuestExtents extents);

#endif
