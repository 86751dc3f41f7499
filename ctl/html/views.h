/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views: the groupings by which a run has something to tell, each with its report, and the names
 * of the reports that are the steps down from it.  Not for how a page shows them.
 */
#ifndef CTL_VIEWS_H
#define CTL_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#include <comm/comm.h>

enum {
	CTL_VIEWS = 14,
	CTL_VIEW_STEPS = 3,
	CTL_VIEW_NAME = 64,
	CTL_VIEW_TOP = 5000, /* edges of a view: some 45 bytes each */
};

struct ctl_view {
	const char *by;
	bool parts; /* worth being shown of parts of the run */
	bool timed; /* nodes are of times, so each flow below them is there many times */
	/* Comma-separated groupings of each step, the view's own as an asterisk; NULL: no more. */
	const char *const *step;
	/* What stands beside the step to objects, where the run has types. */
	const char *typed;
	const struct comm_report *report;
};

struct ctl_views {
	struct ctl_view view[CTL_VIEWS]; /* by thread first */
	size_t n;
	struct comm_report *owned[CTL_VIEWS];
};

/*
 * Between threads a report is as "commctl report" prints it.  Others are of what goes from
 * one thread to another, be it from a function or a role to itself.
 */
int ctl_view_ask(struct comm_reader *reader, const struct comm_query *query, const char *by,
		 size_t top, struct comm_report **ret, char **err);

/* whole: by thread, of the same query; outlives views.  To be freed on failure, too. */
int ctl_views_choose(struct ctl_views *views, struct comm_reader *reader,
		     const struct comm_query *query, const struct comm_report *whole, char **err);
void ctl_views_free(struct ctl_views *views);
bool ctl_views_have(const struct ctl_views *views, const char *by);

/* A step of a view, or what stands beside it, as comm_query.by. */
void ctl_view_name(const struct ctl_view *view, const char *step, char ret[CTL_VIEW_NAME]);

#endif
