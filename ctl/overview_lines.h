/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The overview as lines: titles, shares and texts, in the order in which they are added. */
#ifndef CTL_OVERVIEW_LINES_H
#define CTL_OVERVIEW_LINES_H

#include <stddef.h>

#include "overview_words.h"

enum { CTL_OVERVIEW_LINES = 24 };

struct ctl_overview_line {
	const char *title; /* "FEEDS"; "": a further line of the same */
	char share[CTL_OVERVIEW_SHARE + 3],
		text[CTL_OVERVIEW_LINE]; /* share "": it is a sentence */
};

struct ctl_overview {
	char run[CTL_OVERVIEW_LINE], cost[CTL_OVERVIEW_LINE];
	struct ctl_overview_line line[CTL_OVERVIEW_LINES];
	size_t n;
	size_t n_lead;	   /* the first of them, up to who feeds whom */
	const char *title; /* of the next line, for what adds them */
};

/* The title of the next line. */
void ctl_overview_title(struct ctl_overview *overview, const char *title);
/* Adds a line, unless there are too many.  share: "" for a sentence. */
void ctl_overview_add(struct ctl_overview *overview, const char *share, const char *text);
void ctl_overview_say(struct ctl_overview *overview, const char *sentence);
/* What a run that confirms nothing calls for; more: what would help it. */
void ctl_overview_say_more(struct ctl_overview *overview, const char *more);

#endif
