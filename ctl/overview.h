/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overview: what a run says on one screen when nobody asks for anything in particular.  What
 * waits, how fresh the rest is, who feeds whom and through what, cache lines, what is not known and
 * what to look at next, most important first.  commctl report prints it (screen.h), the page of commctl html
 * begins with it, and commctl top with its lead.
 */
#ifndef CTL_OVERVIEW_H
#define CTL_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <comm/comm.h>

#include "overview_lines.h"

/* A row that is surely less of what it is of is no matter on one screen. */
#define CTL_OVERVIEW_LEAST 0.02

/*
 * Of the run and the range that the query names.  0, or -errno and *err as of comm_reader_report().
 * Texts are as this terminal can show them.
 */
int ctl_overview_make(struct comm_reader *reader, const struct comm_query *query,
		      struct ctl_overview *ret, char **err);

/*
 * The lead stands above a list of flows: the overview up to who feeds whom, in fewer rows, and silent where
 * a survey saw too little.  listed: what the list has the estimator's flows by, so that the lead does not
 * repeat them; NULL: it has others.
 */
int ctl_overview_lead(struct comm_reader *reader, const struct comm_query *query,
		      const char *listed, struct ctl_overview *ret, char **err);

/* Whether the first screen tells of a survey, and of roles where it tells of flows of any age. */
int ctl_overview_choice(struct comm_reader *reader, const struct comm_query *query,
			bool *ret_survey, bool *ret_roles, char **err);

/* Of the same run and time as that one, nodes by that grouping. */
struct comm_query ctl_overview_query(const struct comm_query *of, const char *by);
/* The part of what is read that has that name in the account. */
const struct comm_report_part *ctl_overview_part(const struct comm_report *report,
						 const char *name);
/* Bounds of how much of what changes within 1 s another thread wrote; the report is of fresh data, by thread. */
void ctl_overview_crossing(const struct comm_report *threads, double *ret_low, double *ret_high);

/* Of the bytes that a report has edges of, those on edges that it states. */
double ctl_overview_stated(const struct comm_report *report);
/*
 * Threads of a pool do the same, so a run may state of the pool what it cannot of each of them.
 * Whether the report by roles states much more than the one by threads.
 */
bool ctl_overview_tells_more(const struct comm_report *roles, const struct comm_report *threads);

#endif
