// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "term.h"

enum { OVERVIEW_WHOLE_NAME = 1024 };

const char *ctl_overview_share_text(char *text, double share, double low, double high)
{
	if (share >= 0.005 && round(100 * low) == round(100 * high))
		snprintf(text, CTL_OVERVIEW_SHARE + 1, "%.0f %%", 100 * share);
	else if (high <= 2 * low || (high - low <= 0.1 && low >= 0.01))
		snprintf(text, CTL_OVERVIEW_SHARE + 1, "%.0f %% (%.0f..%.0f)", 100 * share,
			 100 * low, 100 * high);
	else if (low >= 0.01)
		snprintf(text, CTL_OVERVIEW_SHARE + 1, "at least %.0f %%", floor(100 * low));
	else
		snprintf(text, CTL_OVERVIEW_SHARE + 1, "under %.0f %%", fmax(1, ceil(100 * high)));
	return text;
}

/* Takes the parameters of a function away, and leaves what stands behind them. */
static void cut_parameters(char *name)
{
	char *open = strchr(name, '('), *end = open;
	int depth = 0;

	if (!open || open == name || open[-1] == ' ')
		return;
	do
		depth += (*end == '(') - (*end == ')');
	while (depth && *++end);
	if (*end)
		memmove(open + 1, end, strlen(end) + 1);
}

const char *ctl_overview_name(char name[CTL_OVERVIEW_NAME], const struct comm_node *node)
{
	char whole[OVERVIEW_WHOLE_NAME], *mark;

	ctl_clean(whole, sizeof(whole), node->name, sizeof(whole) - 1);
	/* A long list of parameters is not worth its room. */
	if (strlen(whole) > CTL_OVERVIEW_NAME / 2)
		cut_parameters(whole);
	/* How it is known stays at the end of a name that is cut. */
	mark = strrchr(whole, '(');
	if (strlen(whole) < CTL_OVERVIEW_NAME || !mark || mark == whole || mark[-1] != ' ' ||
	    strlen(mark) > CTL_OVERVIEW_NAME / 2) {
		ctl_clean(name, CTL_OVERVIEW_NAME, whole, CTL_OVERVIEW_NAME - 1);
		return name;
	}
	mark[-1] = '\0';
	ctl_clean(name, CTL_OVERVIEW_NAME, whole, (int)(CTL_OVERVIEW_NAME - 2 - strlen(mark)));
	strcat(strcat(name, " "), mark);
	return name;
}

const char *ctl_overview_node_name(char name[CTL_OVERVIEW_NAME], const struct comm_report *report,
				   size_t i)
{
	const struct comm_node *node = comm_report_node_at(report, i);
	bool twin = false;

	ctl_overview_name(name, node);
	for (size_t j = 0; j < report->n_nodes && node->kind == COMM_NODE_THREAD; j++)
		twin |= j != i && !strcmp(comm_report_node_at(report, j)->name, node->name);
	if (twin && node->tid)
		snprintf(name + strlen(name), CTL_OVERVIEW_NAME - strlen(name), "/%u", node->tid);
	return name;
}

const char *ctl_overview_over_text(const struct comm_report *report)
{
	double allowed = report->overhead_allowed, settled = report->overhead_settled;

	if (allowed <= 0 || report->overhead <= allowed)
		return "";
	return settled >= 0 && settled <= allowed ? ": over the limit as it set up"
						  : ": over the limit";
}

bool ctl_overview_add_lag(char *line, size_t size, const char *between,
			  const struct comm_report_census *row, int lag, const char *name)
{
	char share[CTL_OVERVIEW_SHARE + 1];
	size_t used = strlen(line);

	if (row->fresh_high[lag] - row->fresh_low[lag] > 0.8)
		return false;
	snprintf(line + used, size - used, "%s%s within %s", between,
		 ctl_overview_share_text(share, row->fresh[lag], row->fresh_low[lag],
					 row->fresh_high[lag]),
		 name);
	return true;
}

static const struct comm_node *part(const struct comm_report *report, size_t node, size_t i)
{
	const struct comm_node *joined = comm_report_node_at(report, node);

	return i < joined->n_parts ? joined->parts[i] : joined;
}

void ctl_overview_place_text(char *text, const struct comm_report *report, size_t node,
			     const char *verb)
{
	char role[CTL_OVERVIEW_NAME], function[CTL_OVERVIEW_NAME], object[CTL_OVERVIEW_NAME];

	snprintf(text, CTL_OVERVIEW_LINE, "%s in %s %s %s",
		 ctl_overview_name(function, part(report, node, 1)),
		 ctl_overview_name(role, part(report, node, 0)), verb,
		 ctl_overview_name(object, part(report, node, 2)));
}

/* "fillBatch in parser", as far as the code is known. */
static void end_text(char *text, size_t size, const struct comm_report *report, size_t node)
{
	char role[CTL_OVERVIEW_NAME], function[CTL_OVERVIEW_NAME];

	ctl_overview_name(role, part(report, node, 0));
	ctl_overview_name(function, part(report, node, 1));
	if (!strcmp(function, "[code not known]"))
		snprintf(text, size, "%s", role);
	else
		snprintf(text, size, "%s in %s", function, role);
}

void ctl_overview_flow_text(char *text, const struct comm_report *report,
			    const struct comm_report_edge *edge)
{
	char from[2 * CTL_OVERVIEW_NAME + 8], to[2 * CTL_OVERVIEW_NAME + 8];

	end_text(from, sizeof(from), report, edge->from);
	end_text(to, sizeof(to), report, edge->to);
	snprintf(text, CTL_OVERVIEW_LINE, "%s > %s", from, to);
}
