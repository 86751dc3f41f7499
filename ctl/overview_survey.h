/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the overview says of a survey: what waits, how fresh the rest is, and who feeds whom by windows.  Which
 * reports these are made from is for overview.c.
 */
#ifndef CTL_OVERVIEW_SURVEY_H
#define CTL_OVERVIEW_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include <comm/comm.h>

#include "overview_lines.h"

struct ctl_overview_survey {
	struct ctl_overview *to;
	/* Of fresh data: by role, function and object; by thread; by role and function, between threads, and within them as well (NULL for a lead). */
	const struct comm_report *places, *threads, *functions, *within;
	bool is_lead; /* in fewer rows, and silent where too little was seen to tell */
};

/* Each adds its part. */
void ctl_overview_survey_waiting(const struct ctl_overview_survey *survey);
void ctl_overview_survey_fresh(const struct ctl_overview_survey *survey);
void ctl_overview_survey_flows(const struct ctl_overview_survey *survey);
/* falsely: how many cache lines are shared falsely. */
void ctl_overview_survey_next(const struct ctl_overview_survey *survey, size_t falsely);

#endif
