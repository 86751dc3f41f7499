// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview_lines.h"

#include <stdio.h>

void ctl_overview_title(struct ctl_overview *overview, const char *title)
{
	overview->title = title;
}

void ctl_overview_add(struct ctl_overview *overview, const char *share, const char *text)
{
	struct ctl_overview_line *line;

	if (overview->n == CTL_OVERVIEW_LINES)
		return;
	line = &overview->line[overview->n++];
	line->title = overview->title;
	snprintf(line->share, sizeof(line->share), "%s", share);
	snprintf(line->text, sizeof(line->text), "%s", text);
	overview->title = "";
}

void ctl_overview_say(struct ctl_overview *overview, const char *sentence)
{
	ctl_overview_add(overview, "", sentence);
}

void ctl_overview_say_more(struct ctl_overview *overview, const char *more)
{
	ctl_overview_say(overview, more);
	ctl_overview_say(overview,
			 "or run it anew: commd --source exact -- PROGRAM counts every access");
}
