// SPDX-License-Identifier: GPL-2.0-or-later
#include "views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phases.h"

static const char *const down_from_threads[CTL_VIEW_STEPS] = {"*,function", "*,function,object",
							      "*,function,line,object"};
static const char *const down_from_functions[CTL_VIEW_STEPS] = {"*,object", "*,line,object"};
static const char *const down_from_data[CTL_VIEW_STEPS] = {"thread,*", "thread,function,*",
							   "thread,function,line,*"};
static const char *const down_from_times[CTL_VIEW_STEPS] = {"*,thread", "*,thread,function",
							    "*,thread,function,object"};

/* Pieces of time are worth a view where there is enough of it, and something is known of when. */
enum { VIEW_TIME_SLICES = 2 * COMM_RESOLVED_SLICES };

static bool same_nodes(const struct comm_report *a, const struct comm_report *b)
{
	for (size_t i = 0; i < a->n_nodes; i++) {
		bool found = false;

		for (size_t j = 0; j < b->n_nodes && !found; j++)
			found = !strcmp(comm_report_node_at(a, i)->id,
					comm_report_node_at(b, j)->id);
		if (!found)
			return false;
	}
	return a->n_nodes == b->n_nodes;
}

static bool always(const struct ctl_views *views, const struct comm_report *report)
{
	(void)views;
	(void)report;
	return true;
}

static bool has_nodes(const struct ctl_views *views, const struct comm_report *report)
{
	(void)views;
	return report->n_edges && report->n_nodes > 1;
}

/* Roles, where threads share one. */
static bool has_fewer_nodes(const struct ctl_views *views, const struct comm_report *report)
{
	return report->n_nodes < views->view[0].report->n_nodes;
}

static bool has_processes(const struct ctl_views *views, const struct comm_report *report)
{
	size_t n = 0;

	(void)views;
	for (size_t i = 0; i < report->n_nodes; i++)
		n += !comm_report_node_at(report, i)->other;
	return n > 1;
}

/* Regions around others, where some stand inside others. */
static bool has_nesting(const struct ctl_views *views, const struct comm_report *report)
{
	for (size_t i = 0; i < views->n; i++)
		if (!strcmp(views->view[i].by, "region"))
			return !same_nodes(views->view[i].report, report);
	return false;
}

static bool has_times(const struct ctl_views *views, const struct comm_report *report)
{
	size_t times = 0;
	bool dated = false;

	for (size_t i = 0; i < report->n_nodes; i++)
		times += comm_report_node_at(report, i)->to_ns > 0;
	for (size_t i = 0; i < report->n_edges && !dated; i++)
		dated = comm_report_node_at(report, comm_report_edge_at(report, i)->from)->to_ns;
	return dated && times > 1 && views->view[0].report->n_slices >= VIEW_TIME_SLICES;
}

static const struct kind {
	struct ctl_view view;
	/* report: of the kind, after those of the kinds before it were chosen. */
	bool (*tells)(const struct ctl_views *views, const struct comm_report *report);
} kinds[CTL_VIEWS] = {
	/* What stands beside the step to objects is a step of the view by type. */
	{{"thread", true, false, down_from_threads, NULL, NULL}, always},
	{{"role", true, false, down_from_threads, "*,function,type", NULL}, has_fewer_nodes},
	{{"process", true, false, down_from_threads, "*,function,type", NULL}, has_processes},
	{{"function", true, false, down_from_functions, "*,type", NULL}, always},
	{{"caller", false, false, down_from_functions, "*,type", NULL}, has_nodes},
	{{"region", true, false, down_from_threads, "*,function,type", NULL}, has_nodes},
	{{"outermost", false, false, down_from_threads, "*,function,type", NULL}, has_nesting},
	{{"object", true, false, down_from_data, NULL, NULL}, always},
	{{"type", false, false, down_from_data, NULL, NULL}, has_nodes},
	{{"struct", false, false, down_from_data, NULL, NULL}, has_nodes},
	{{"phase", false, true, down_from_times, NULL, NULL}, has_times},
	{{"time", false, true, down_from_times, NULL, NULL}, has_times},
	{{"frames", false, true, down_from_times, NULL, NULL}, has_times},
	{{"frame", false, true, down_from_times, NULL, NULL}, has_nodes},
};

int ctl_view_ask(struct comm_reader *reader, const struct comm_query *query, const char *by,
		 size_t top, struct comm_report **ret, char **err)
{
	struct comm_query own = *query;

	own.by = by;
	own.top = top;
	own.self = own.across = strcmp(by, "thread") != 0;
	return comm_reader_report(reader, &own, ret, err);
}

static void add(struct ctl_views *views, const struct kind *kind, const struct comm_report *report)
{
	views->view[views->n] = kind->view;
	views->view[views->n++].report = report;
}

int ctl_views_choose(struct ctl_views *views, struct comm_reader *reader,
		     const struct comm_query *query, const struct comm_report *whole, char **err)
{
	add(views, &kinds[0], whole);
	for (size_t i = 1; i < CTL_VIEWS; i++) {
		const struct kind *kind = &kinds[i];
		struct comm_report *report;
		int code;

		/* Watchpoints tell no times. */
		if (query->fresh && kind->view.timed)
			continue;
		code = ctl_view_ask(reader, query, kind->view.by, CTL_VIEW_TOP, &report, err);
		/* The run has none of the kind: the report by thread had all else. */
		if (code == -ENODATA) {
			free(*err);
			*err = NULL;
			continue;
		}
		if (code)
			return code;
		if (!kind->tells(views, report)) {
			comm_report_free(report);
			continue;
		}
		views->owned[views->n] = report;
		add(views, kind, report);
	}
	return 0;
}

void ctl_views_free(struct ctl_views *views)
{
	for (size_t i = 0; i < views->n; i++)
		comm_report_free(views->owned[i]);
	*views = (struct ctl_views){0};
}

bool ctl_views_have(const struct ctl_views *views, const char *by)
{
	for (size_t i = 0; i < views->n; i++)
		if (!strcmp(views->view[i].by, by))
			return true;
	return false;
}

void ctl_view_name(const struct ctl_view *view, const char *step, char ret[CTL_VIEW_NAME])
{
	size_t own = strcspn(step, "*");

	snprintf(ret, CTL_VIEW_NAME, "%.*s%s%s", (int)own, step, view->by, step + own + 1);
}
