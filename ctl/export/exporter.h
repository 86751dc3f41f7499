/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exporters: a run in the format of a tool that others wrote.  An exporter is one file
 * which defines ctl_export_NAME(), and one line of the table here.
 *
 * Exporters of stacks have a report by thread, function and object: each node has these three
 * parts.  An edge becomes a stack whose leaf is the reading function, below it the object, and
 * at the root the function that wrote: so a flame graph tells who feeds whom.  Of a run with callers
 * the function is a path, whose parts are its frames, the outermost first.
 */
#ifndef CTL_EXPORTER_H
#define CTL_EXPORTER_H

#include <stdio.h>

#include <stdbool.h>

#include <comm/comm.h>

#define CTL_EXPORT_STACKS "thread,function,object"
#define CTL_EXPORT_PATHS "thread,path,object"

enum ctl_export_part {
	CTL_PART_THREAD,
	CTL_PART_FUNCTION,
	CTL_PART_OBJECT,
	CTL_PARTS,
};

/* How many frames the function of a stack has, and each of them, the outermost first. */
static inline size_t ctl_export_frames(const struct comm_node *function)
{
	return function->n_parts ? function->n_parts : 1;
}

static inline const struct comm_node *ctl_export_frame(const struct comm_node *function, size_t i)
{
	return function->n_parts ? function->parts[i] : function;
}

/* What is exported: a report, and whom to ask for reports of its parts. */
struct ctl_export {
	struct comm_reader *reader;
	const struct comm_query *query; /* of the report */
	const struct comm_report *report;
	bool all; /* also what the run does not confirm, as it is estimated */
	/*
	 * In pprof: one of many profiles that a server adds up.  Each set of labels is a series there, so none has the number
	 * of a thread, or how sure a part of the run is by itself.
	 */
	bool added_up;
};

/*
 * EXPORTER(name, binary, by, others_too, graded, empty_too, help); a binary format does not go to a terminal.  by: of the
 * report, unless the user says otherwise where others_too.  graded: it can say of each row how sure it is, so
 * it gets all of them.  empty_too: it has something to say of a run of which no flow is confirmed.
 */
#define CTL_EXPORTERS(EXPORTER)                                               \
	EXPORTER(pprof, true, CTL_EXPORT_STACKS, false, true, false,          \
		 "for go tool pprof, speedscope, Pyroscope: profile.proto")   \
	EXPORTER(collapsed, false, CTL_EXPORT_STACKS, false, false, false,    \
		 "for flamegraph.pl, inferno, speedscope: stacks a line")     \
	EXPORTER(perfetto, true, "thread", false, false, false,               \
		 "for ui.perfetto.dev: threads in the course of time")        \
	EXPORTER(matrix, false, "thread", true, false, false,                 \
		 "for spreadsheets and heat-map tools: CSV, writers in rows") \
	EXPORTER(openmetrics, false, "role", false, false, true,              \
		 "for Prometheus' node_exporter: gauges of the range, roles")

/* 0 or -errno; *err as by the library.  That not all could be written to out shows in ferror(). */
#define CTL_EXPORTER_DECLARE(name, binary, by, others_too, graded, empty_too, help) \
	int ctl_export_##name(const struct ctl_export *export, FILE *out, char **err);
CTL_EXPORTERS(CTL_EXPORTER_DECLARE)
#undef CTL_EXPORTER_DECLARE

#endif
