/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What commctl top shows: a window of time of a run, at some depth, as lines of text.  Knows
 * nothing of terminals: top.c draws the lines and moves the view about.
 *
 * Depth 0 shows the edges of a grouping.  One deeper are the edges of which one of them
 * consists: process -> role -> thread -> function -> object -> line.
 */
#ifndef CTL_VIEW_H
#define CTL_VIEW_H

#include <comm/comm.h>

#include "term.h"

enum {
	CTL_VIEW_DEPTH = 6,
	CTL_VIEW_LINE = 512,
	CTL_VIEW_NAME = 336,
	CTL_VIEW_KEY = 512,
	CTL_VIEW_FILTER = 48,
};

enum ctl_view_sort {
	CTL_SORT_SHARE,
	CTL_SORT_CHANGE,
	CTL_SORT_NAME,
	CTL_SORTS,
};

struct ctl_view_step {
	char key[2][CTL_VIEW_KEY]; /* of the writing and the reading node */
	char name[CTL_VIEW_NAME];
};

/* What is looked at; the caller sets it. */
struct ctl_view {
	int64_t run;	   /* 0: the latest */
	const char *label; /* of the run; NULL: any */
	const char *by;	   /* of depth 0; NULL: thread */
	int64_t window_ns; /* how much of the run is shown */
	int64_t end_ns;	   /* of the window, since the run's start; 0: live */
	bool first_read, all;
	bool fresh; /* who feeds whom with fresh data */
	enum ctl_view_sort sort;
	char filter[CTL_VIEW_FILTER]; /* only rows that contain it */
	size_t depth;
	struct ctl_view_step step[CTL_VIEW_DEPTH]; /* the edges gone into, depth of them */
	size_t selected;
};

struct ctl_view_row {
	char text[CTL_VIEW_LINE];
	struct ctl_view_step step; /* to go into it */
};

/* The lines of a head, of which a low screen has not all. */
enum ctl_view_head {
	CTL_HEAD_RUN,
	CTL_HEAD_COST,
	CTL_HEAD_WHERE,
	CTL_HEAD_BLANK,
	CTL_HEAD_COLUMNS,
};

/* Lines to show: head, rows, and foot. */
struct ctl_frame {
	char head[8][CTL_VIEW_LINE], foot[4][CTL_VIEW_LINE];
	size_t n_head, n_foot;
	struct ctl_view_row *row;
	size_t n_rows;
	bool has_deeper;
	int64_t end_ns; /* of the window shown */
	int64_t run_ns; /* length of the run */
};

/*
 * Reads what the view shows.  -ENODATA and others: see comm_reader_report(), *err is a
 * sentence.  The frame is to be freed by ctl_frame_deinit() in any case.
 */
int ctl_view_read(const struct ctl_view *view, const struct ctl_term *term,
		  struct comm_reader *reader, struct ctl_frame *frame, char **err);
void ctl_frame_deinit(struct ctl_frame *frame);

/* The next grouping to begin at: process, role, thread, function, object, line, process, ... */
const char *ctl_view_next_by(const char *by);

#endif
