/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overview: what commctl report says on one screen when nobody asks for anything in particular.
 * What waits, how fresh the rest is, who feeds whom, what the estimator states of older data, and
 * what to look at next.
 */
#ifndef CTL_OVERVIEW_H
#define CTL_OVERVIEW_H

#include <stdbool.h>

#include <comm/comm.h>

/*
 * Prints the overview of the run and the range that the query names.  *ret_done false: the run has no
 * survey, and nothing is printed.  0, or -errno and *err as of comm_reader_report().
 */
int ctl_overview(struct comm_reader *reader, const struct comm_query *query, bool *ret_done,
		 char **err);

#endif
