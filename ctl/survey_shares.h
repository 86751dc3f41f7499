/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shares that the first screen of a run with a survey is made of, each by the words that the screen has for it. */
#ifndef CTL_SURVEY_SHARES_H
#define CTL_SURVEY_SHARES_H

#include <stdbool.h>

#include <comm/comm.h>

struct ctl_survey_share {
	const char *title; /* of the part of the screen */
	double value, low, high;
	bool is_bound; /* low and high are bounds, and value nothing */
	bool is_large; /* the screen would have it, had it no end */
};

/*
 * Calls add for each, in the order of the screen.  text is what the share is of.
 * 0, what add returns, or what comm_reader_report() returns with *err.
 */
int ctl_survey_shares(struct comm_reader *reader, const struct comm_query *query,
		      int (*add)(void *data, const char *text,
				 const struct ctl_survey_share *share),
		      void *data, char **err);

#endif
