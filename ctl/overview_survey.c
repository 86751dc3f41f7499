// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview_survey.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "overview.h"

enum {
	SURVEY_LOOKED_AT = 10, /* reads without which a share says nothing */
	WITHIN_ROWS = 3,
};

/* How many rows a part has. */
struct rows {
	size_t waiting, fresh, flows;
};

static const struct rows *rows_of(const struct ctl_overview_survey *survey)
{
	static const struct rows screen = {.waiting = 4, .fresh = 3, .flows = 6};
	static const struct rows lead = {.waiting = 1, .fresh = 0, .flows = 3};

	return survey->is_lead ? &lead : &screen;
}

static void say_too_few(const struct ctl_overview_survey *survey, const char *text)
{
	if (!survey->is_lead)
		ctl_overview_say(survey->to, text);
}

/* Rows by what they wait for, the most first. */
static int order_waiting(const void *pa, const void *pb)
{
	const struct comm_report_census *const *a = pa, *const *b = pb;

	return ((*a)->waiting < (*b)->waiting) - ((*a)->waiting > (*b)->waiting);
}

static double fresh_of(const struct comm_report_census *row)
{
	return row->fresh[CTL_LAG_1S] * row->share;
}

static int order_fresh(const void *pa, const void *pb)
{
	const struct comm_report_census *const *a = pa, *const *b = pb;
	double x = fresh_of(*a), y = fresh_of(*b);

	return (x < y) - (x > y);
}

/* The census' rows of nodes, in that order; *ret_n of them.  NULL: no memory. */
static const struct comm_report_census **
sorted(const struct comm_report *report, int (*order)(const void *, const void *), size_t *ret_n)
{
	const struct comm_report_census **rows = calloc(report->n_census + 1, sizeof(*rows));

	*ret_n = 0;
	for (size_t i = 1; rows && i < report->n_census; i++)
		rows[(*ret_n)++] = comm_report_census_at(report, i);
	if (rows)
		qsort(rows, *ret_n, sizeof(*rows), order);
	return rows;
}

void ctl_overview_survey_waiting(const struct ctl_overview_survey *survey)
{
	const struct comm_report_census *all = comm_report_census_at(survey->places, 0);
	const struct comm_report_census **rows;
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE];
	size_t n, shown = 0;

	ctl_overview_title(survey->to, "WAITING");
	if (all->reads < SURVEY_LOOKED_AT) {
		snprintf(line, sizeof(line),
			 "too few reads were drawn (%" PRIu64 ") to say how many wait", all->reads);
		say_too_few(survey, line);
		return;
	}
	if (all->waiting_low < CTL_OVERVIEW_LEAST) {
		snprintf(line, sizeof(line), "under %.0f %% of the reads are of loops that wait",
			 fmax(1, ceil(100 * all->waiting_high)));
		ctl_overview_say(survey->to, line);
		return;
	}
	snprintf(line, sizeof(line), "%s of all reads are of loops that wait",
		 ctl_overview_share_text(share, all->waiting, all->waiting_low, all->waiting_high));
	ctl_overview_say(survey->to, line);
	rows = sorted(survey->places, order_waiting, &n);
	for (size_t i = 0; i < n && shown < rows_of(survey)->waiting; i++) {
		if (rows[i]->waiting_low < CTL_OVERVIEW_LEAST)
			break;
		ctl_overview_share_text(share, rows[i]->waiting, rows[i]->waiting_low,
					rows[i]->waiting_high);
		ctl_overview_place_text(line, survey->places, rows[i]->node, "polls");
		ctl_overview_add(survey->to, share, line);
		shown++;
	}
	free(rows);
}

void ctl_overview_survey_fresh(const struct ctl_overview_survey *survey)
{
	const struct comm_report_census *all = comm_report_census_at(survey->places, 0);
	const struct comm_report_census **rows;
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE] = "";
	uint64_t looked_at = all->reads - all->waiting_reads;
	size_t n, shown = 0;
	bool some;

	ctl_overview_title(survey->to, "FRESH");
	snprintf(line, sizeof(line), "of what is read besides, ");
	some = ctl_overview_add_lag(line, sizeof(line), "", all, CTL_LAG_10MS, "10 ms");
	some |= ctl_overview_add_lag(line, sizeof(line), some ? ", " : "", all, CTL_LAG_1S, "1 s");
	some |= ctl_overview_add_lag(line, sizeof(line), some ? ", " : "", all, CTL_LAG_10S,
				     "10 s");
	if (!some || looked_at < SURVEY_LOOKED_AT) {
		snprintf(line, sizeof(line),
			 "too few reads were drawn (%" PRIu64 ") to say how soon data changes",
			 looked_at);
		say_too_few(survey, line);
		return;
	}
	/* Where hardly anything changes it may yet be written all the time. */
	snprintf(line + strlen(line), sizeof(line) - strlen(line), " changes its value%s",
		 all->fresh_low[CTL_LAG_10S] < CTL_OVERVIEW_LEAST
			 ? "; what is written again as it was does not"
			 : "");
	ctl_overview_say(survey->to, line);
	rows = sorted(survey->places, order_fresh, &n);
	for (size_t i = 0; i < n && shown < rows_of(survey)->fresh; i++) {
		double low = rows[i]->share_low * rows[i]->fresh_low[CTL_LAG_1S];

		if (low < CTL_OVERVIEW_LEAST)
			continue;
		ctl_overview_share_text(share, rows[i]->share, rows[i]->share_low,
					rows[i]->share_high);
		ctl_overview_place_text(line, survey->places, rows[i]->node, "reads");
		ctl_overview_add_lag(line, sizeof(line), "; ", rows[i], CTL_LAG_1S, "1 s");
		ctl_overview_add(survey->to, share, line);
		shown++;
	}
	free(rows);
}

/* A row of a few windows says what happened to a few words, not what a program does. */
static bool is_told(const struct comm_report_edge *edge)
{
	return edge->share_low >= CTL_OVERVIEW_LEAST && edge->samples >= COMM_RESOLVED_WINDOWS;
}

static bool tells_flows(const struct ctl_overview_survey *survey)
{
	for (size_t i = 0; survey->threads->windows && i < survey->functions->n_edges; i++)
		if (is_told(comm_report_edge_at(survey->functions, i)))
			return true;
	return false;
}

static bool is_of_one_name(const struct comm_report *a, size_t i, const struct comm_report *b,
			   size_t j)
{
	return !strcmp(comm_report_node_at(a, i)->name, comm_report_node_at(b, j)->name);
}

/* Is it a row of what crosses threads, among the first n edges? */
static bool is_told_already(const struct ctl_overview_survey *survey, size_t n,
			    const struct comm_report_edge *edge)
{
	for (size_t i = 0; i < n; i++) {
		const struct comm_report_edge *other = comm_report_edge_at(survey->functions, i);

		if (is_told(other) &&
		    is_of_one_name(survey->functions, other->from, survey->within, edge->from) &&
		    is_of_one_name(survey->functions, other->to, survey->within, edge->to))
			return true;
	}
	return false;
}

static bool tells_within(const struct ctl_overview_survey *survey)
{
	for (size_t i = 0; i < survey->within->n_edges; i++)
		if (is_told(comm_report_edge_at(survey->within, i)))
			return true;
	return false;
}

/* What functions hand each other mostly stays within a thread.  n: the first edges that cross, whose rows are told already. */
static void say_within(const struct ctl_overview_survey *survey, size_t n)
{
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE];
	size_t shown = 0;

	for (size_t i = 0; survey->within && i < survey->within->n_edges && shown < WITHIN_ROWS;
	     i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(survey->within, i);

		if (!is_told(edge) || is_told_already(survey, n, edge))
			continue;
		if (!shown++)
			ctl_overview_say(survey->to, "of all that, within a thread as well:");
		ctl_overview_share_text(share, edge->share, edge->share_low, edge->share_high);
		ctl_overview_flow_text(line, survey->within, edge);
		ctl_overview_add(survey->to, share, line);
	}
}

static bool has_lost(const struct comm_report *report, const char *cause)
{
	for (size_t i = 0; i < report->n_losses; i++)
		if (!strcmp(comm_report_loss_at(report, i)->cause, cause))
			return true;
	return false;
}

void ctl_overview_survey_flows(const struct ctl_overview_survey *survey)
{
	char share[CTL_OVERVIEW_SHARE + 1], line[CTL_OVERVIEW_LINE], windows[CTL_NUMBER];
	double low, high;
	size_t shown = 0, i = 0;

	ctl_overview_title(survey->to, "FEEDS");
	if (has_lost(survey->threads, "windows_off_ms") && !tells_flows(survey)) {
		ctl_overview_say(
			survey->to,
			"who writes fresh data is not known: threads leave CPUs so often that a "
			"look each time costs more than --overhead has for it");
		return;
	}
	if (!survey->threads->windows) {
		say_too_few(survey,
			    "no window was opened on fresh data: who writes it is not known");
		return;
	}
	ctl_overview_crossing(survey->threads, &low, &high);
	snprintf(windows, sizeof(windows), "%" PRIu64 " window%s", survey->threads->windows,
		 survey->threads->windows == 1 ? "" : "s");
	if (survey->threads->windows < SURVEY_LOOKED_AT) {
		snprintf(line, sizeof(line), "%s on fresh data: too few to tell who writes it",
			 windows);
		say_too_few(survey, line);
		return;
	}
	if (high < CTL_OVERVIEW_LEAST)
		snprintf(line, sizeof(line),
			 "of what changes within 1 s, under %.1f %% comes from another thread (%s)",
			 fmax(0.1, 100 * high), windows);
	else if (low < CTL_OVERVIEW_LEAST && high > 1 - CTL_OVERVIEW_LEAST)
		snprintf(line, sizeof(line),
			 "how much of what changes within 1 s comes from another thread is not "
			 "known (%s)%s",
			 windows, tells_flows(survey) ? "; of what was seen to:" : "");
	else
		snprintf(line, sizeof(line),
			 "of what changes within 1 s, %.0f to %.0f %% comes from another thread "
			 "(%s)%s",
			 floor(100 * low), ceil(100 * high), windows,
			 tells_flows(survey) ? "; of what was seen to:" : "");
	ctl_overview_say(survey->to, line);
	for (; high >= CTL_OVERVIEW_LEAST && i < survey->functions->n_edges &&
	       shown < rows_of(survey)->flows;
	     i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(survey->functions, i);

		if (!is_told(edge))
			continue;
		ctl_overview_share_text(share, edge->share, edge->share_low, edge->share_high);
		ctl_overview_flow_text(line, survey->functions, edge);
		ctl_overview_add(survey->to, share, line);
		shown++;
	}
	say_within(survey, i);
}

void ctl_overview_survey_next(const struct ctl_overview_survey *survey, size_t falsely)
{
	const struct comm_report_census *all = comm_report_census_at(survey->places, 0);

	ctl_overview_title(survey->to, "NEXT");
	if (all->reads >= SURVEY_LOOKED_AT && all->waiting_low > 0.5)
		ctl_overview_say(
			survey->to,
			"its threads mostly wait: look at what they wait for, or use fewer");
	else if (falsely)
		ctl_overview_say(
			survey->to,
			"commctl sharing says who uses which bytes of the lines shared falsely");
	else if (tells_flows(survey))
		ctl_overview_say(survey->to, "commctl report --fresh --across --by function,object "
					     "shows what they go through");
	else if (tells_within(survey))
		ctl_overview_say(
			survey->to,
			"commctl report --fresh --by function,object shows what they go through");
	else
		ctl_overview_say_more(survey->to, "run for longer, or with a higher --overhead");
}
