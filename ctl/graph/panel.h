/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Panels: what a drawing is of.  One is a report: of a run, of each of several runs, or of each
 * phase of these; the report of a whole run is there too where its phases are drawn.
 */
#ifndef CTL_PANEL_H
#define CTL_PANEL_H

#include <comm/comm.h>

#include "label.h"

enum { CTL_PANEL_TITLE = 96 };

struct ctl_panel {
	struct comm_report *report;
	struct ctl_labels labels;
	double *length;		     /* of each node, see ctl_panel_length(); NULL: of none */
	char title[CTL_PANEL_TITLE]; /* which run, and which part of it; UTF-8 (utf8.h) */
	/* Of a phase of frames: those that began in it. */
	uint64_t first_frame, n_frames;
};

/* A run, and its phases in the order of time. */
struct ctl_course {
	struct ctl_panel whole, *phase;
	size_t n_phases;
};

struct ctl_panels {
	const struct comm_query *query; /* of all reports, but for run and range; the user's */
	struct ctl_course *course;	/* of each run */
	size_t n_courses;
	bool acyclic; /* drawn as acyclic.h says */
};

/* How a course is cut into phases. */
struct ctl_panels_cut {
	size_t most;	   /* at most so many, if nothing else says how long they are; 0: none */
	uint64_t phase_ns; /* if not 0, each is that long */
	bool find;	   /* those that are found in the run, if there are some */
	bool frames;	   /* by the program's frames, not by time */
	uint64_t n_frames; /* if not 0, each has so many */
};

/*
 * Adds a course of the query's run and range.  Where the cut does not say how long a phase is, each is
 * of so many slices at least that it can be checked against itself.  *err as by the library; -ENODATA:
 * the run has no frames, too.
 */
int ctl_panels_add(struct ctl_panels *panels, struct comm_reader *reader,
		   const struct comm_query *query, const struct ctl_panels_cut *cut, char **err);
/* Zeroed panels hold nothing. */
void ctl_panels_deinit(struct ctl_panels *panels);

/* What is drawn: each phase, or where there are none each run; NULL past the last one. */
const struct ctl_panel *ctl_panels_at(const struct ctl_panels *panels, size_t i);
size_t ctl_panels_count(const struct ctl_panels *panels);

/* The most bytes of an edge that is shown, of all that is drawn. */
double ctl_panels_largest(const struct ctl_panels *panels);

/* How long a region was, in the report's length_unit; 0: not known, or no region. */
double ctl_panel_length(const struct ctl_panel *panel, size_t node);
/* The most of a region, of all panels whose lengths are in this unit; NULL: 0. */
double ctl_panels_longest(const struct ctl_panels *panels, const char *unit);

/* Whether two nodes of reports of one run are one. */
bool ctl_panel_is_same(const struct comm_node *a, const struct comm_node *b);

#endif
