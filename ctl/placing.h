/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placings: where a report's threads ran, on the parts of a machine, as the graph that cut.h
 * asks for.  Its vertices are the report's nodes at the ends of stated edges; what is not
 * stated between those stands behind, for nothing is chosen by it.
 *
 * A store does not tell on which CPU a given byte was written or read: in each slice writer and
 * reader are taken to be independent, and slices count by what the reader ran in them.
 */
#ifndef CTL_PLACING_H
#define CTL_PLACING_H

#include <comm/comm.h>

#include "cut.h"
#include "topology.h"

struct ctl_placed_thread {
	size_t vertex;
	uint32_t tgid, tid;
	const char *name; /* the report's */
	double samples;
};

struct ctl_placing {
	struct ctl_cut_graph graph;
	size_t *node;			  /* of each vertex, in the report */
	size_t *edge;			  /* of each edge of the graph, in the report */
	struct ctl_placed_thread *thread; /* by vertex */
	size_t n_threads;
	size_t n_unknown; /* of the stated edges: those whose ends nobody saw run */
	bool loads;	  /* vertices are weighed by CPU time, not by their number of threads */
};

enum ctl_placing_now {
	CTL_NOW_RECORDED,
	CTL_NOW_SPREAD, /* each thread anywhere */
	CTL_NOW_FILE,
};

enum { CTL_PLACING_VERTICES = 2048 };

/*
 * report: of first or of all reads, by thread, role or process, with places.  path: of a file
 * for CTL_NOW_FILE, whose lines say where threads run: "LIST THREAD", by tid or by name, as
 * "taskset -pc" takes or as it prints it.  -ENODATA: no edge is stated; -E2BIG: more vertices
 * than CTL_PLACING_VERTICES; *err is a sentence, malloc'ed (NULL: no memory).  Call deinit() also
 * after a failure.
 */
int ctl_placing_init(struct ctl_placing *placing, const struct comm_report *report,
		     const struct ctl_parts *parts, enum ctl_placing_now now, const char *path,
		     char **err);
void ctl_placing_deinit(struct ctl_placing *placing);

#endif
