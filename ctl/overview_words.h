/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overview's words: shares with their intervals, and what nodes, places and flows are called on one
 * screen.  Which of them are told, and in what order, is for overview.h.  Texts are as this terminal can show them.
 */
#ifndef CTL_OVERVIEW_WORDS_H
#define CTL_OVERVIEW_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <comm/comm.h>

enum {
	CTL_OVERVIEW_LINE = 512,
	CTL_OVERVIEW_SHARE = 18, /* columns of a share with its interval, where a line has one */
	CTL_OVERVIEW_NAME = 64,

	/* Of a census' freshness. */
	CTL_LAG_10MS = 0,
	CTL_LAG_1S = 1,
	CTL_LAG_10S = 2,
};

/*
 * "46 % (40..52)", or what a wide interval says for sure: "at least 25 %", "under 8 %"; "46 %" where
 * it is no wider than the digits.  Text has CTL_OVERVIEW_SHARE + 1 bytes.
 */
const char *ctl_overview_share_text(char *text, double share, double low, double high);
/* Of a function without a long list of parameters, which is not worth its room. */
const char *ctl_overview_name(char name[CTL_OVERVIEW_NAME], const struct comm_node *node);
/* Of a node of that report: threads of one name differ by their number. */
const char *ctl_overview_node_name(char name[CTL_OVERVIEW_NAME], const struct comm_report *report,
				   size_t i);
/* ": over the limit", or ""; what setting up cost is no fault that lasts. */
const char *ctl_overview_over_text(const struct comm_report *report);
/* Adds "20 % (17..23) within 10 ms" to the line, unless nothing is known of that: then false. */
bool ctl_overview_add_lag(char *line, size_t size, const char *between,
			  const struct comm_report_census *row, int lag, const char *name);

/* These have CTL_OVERVIEW_LINE bytes. */
/* "IOThreadMain in io_thd polls flag": node is of a report by role, function, object. */
void ctl_overview_place_text(char *text, const struct comm_report *report, size_t node,
			     const char *verb);
/* "fill in parser > sum in journal": edge is of a report by role, function. */
void ctl_overview_flow_text(char *text, const struct comm_report *report,
			    const struct comm_report_edge *edge);

#endif
