/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dense ids for code: functions, and sites (a function, or one of its source
 * lines).  Ids are never reused; names are copied when first met, so code that
 * is unloaded later keeps its name.  All processes that came from one by fork() have them in common; code that
 * two of these meet may have an id in each.
 */
#ifndef COMM_EXACT_SITE_H
#define COMM_EXACT_SITE_H

#include "pub_tool_basics.h"

#include "channel.h"

struct comm_vg_function {
	const HChar *name, *module;
	ULong start; /* the file's own address */
	UInt site;   /* of the function as a whole */
};

struct comm_vg_site {
	UInt function;
	UInt line;
	const HChar *source; /* NULL when unknown */
	ULong offset;
};

/* by_line: a site per source line. */
void comm_site_init(Bool by_line);
Bool comm_site_by_line(void);
UInt comm_site_at(Addr ip);
UInt comm_site_function(Addr ip);
/* Of what system calls read and write there. */
static inline UInt comm_site_channel(enum comm_channel channel)
{
	return 1 + channel;
}

UInt comm_site_count(void);
const struct comm_vg_site *comm_site_get(UInt id);
UInt comm_function_count(void);
const struct comm_vg_function *comm_function_get(UInt id);

#endif
