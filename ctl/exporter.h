/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exporters: a report in the format of a tool that others wrote.  An exporter is one file
 * which defines ctl_export_NAME(), and one line of the table here.
 *
 * The report is by thread, function and object: each node has these three parts.  An edge
 * becomes a stack whose leaf is the reading function, below it the object, and at the root
 * the function that wrote: so a flame graph tells who feeds whom.
 */
#ifndef CTL_EXPORTER_H
#define CTL_EXPORTER_H

#include <stdio.h>

#include <comm/comm.h>

#define CTL_EXPORT_BY "thread,function,object"

enum ctl_export_part {
	CTL_PART_THREAD,
	CTL_PART_FUNCTION,
	CTL_PART_OBJECT,
	CTL_PARTS,
};

/* EXPORTER(name, binary, help); a binary format does not go to a terminal. */
#define CTL_EXPORTERS(EXPORTER)                                                          \
	EXPORTER(pprof, true, "for go tool pprof, speedscope, Pyroscope: profile.proto") \
	EXPORTER(collapsed, false, "for flamegraph.pl, inferno, speedscope: stacks a line")

/* 0 or -errno; that not all could be written to out shows in ferror(). */
#define CTL_EXPORTER_DECLARE(name, binary, help)                                                \
	int ctl_export_##name(const struct comm_query *query, const struct comm_report *report, \
			      FILE *out);
CTL_EXPORTERS(CTL_EXPORTER_DECLARE)
#undef CTL_EXPORTER_DECLARE

#endif
