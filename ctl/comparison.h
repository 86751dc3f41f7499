/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison of two runs: the parts of the first screen (overview.h) and the flows, each with a verdict that
 * holds together with all others.  commctl diff prints it, and the page of commctl html has a tab of it.
 *
 * Flows of the estimator are compared by their ratio (change.h).  Shares of a survey are unbiased under any budget and
 * load, so they are compared by their difference, whose interval is made by MOVER as well.
 */
#ifndef CTL_COMPARISON_H
#define CTL_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include <comm/comm.h>

#include "change.h"
#include "overview.h"
#include "pairing.h"

enum ctl_compared_of {
	CTL_OF_ALIKE, /* rates of runs that are alike, else shares */
	CTL_OF_RATE,
	CTL_OF_SHARE,
};

/* Why flows are compared by their shares, if nobody asked for it. */
enum ctl_shares_for {
	CTL_SHARES_FOR_NOTHING,
	CTL_SHARES_FOR_PROGRAMS, /* of different programs or targets */
	CTL_SHARES_FOR_BUDGETS,
	CTL_SHARES_FOR_LOADS, /* one of the runs used much more CPU time */
};

struct ctl_compared_flow {
	const struct ctl_pair *pair;
	struct ctl_flow flow[2];
	struct ctl_change change;
};

/* A share that the first screen of a run has, in both. */
struct ctl_compared_share {
	const char *title;
	char text[CTL_OVERVIEW_LINE];
	double value[2], low[2], high[2]; /* of the confidence that reports have */
	bool has[2];			  /* that run's survey met it */
	bool is_bound, is_large;	  /* survey_shares.h */
	enum ctl_verdict verdict;
};

struct ctl_comparison {
	/* Set by the caller. */
	struct comm_query
		query; /* its run is that of neither; by NULL: what the first screen takes */
	enum ctl_compared_of of;
	double alarm, margin;
	/* Results. */
	bool of_share, is_one_run;
	char lone_survey; /* 'A' or 'B' where it alone has one, else 0 */
	enum ctl_shares_for shares_for;
	struct comm_report *report[2];
	struct ctl_pairing pairing;
	struct ctl_compared_flow *flow; /* largest change first */
	size_t n_flows, n_compared, count[CTL_MORE + 1];
	struct ctl_compared_share *share; /* in the order of the first screen */
	size_t n_shares, share_count[CTL_MORE + 1];
};

/*
 * with_screen: shares of the survey, too, where both runs have one.
 * 0; -ENOMEM; what comm_reader_report() returns, with *err; or -EDOM, with *err: rates tell nothing of these runs.
 * *err is the caller's to free.
 */
int ctl_comparison_init(struct ctl_comparison *comparison, struct comm_reader *const reader[2],
			const int64_t run[2], bool with_screen, char **err);
void ctl_comparison_deinit(struct ctl_comparison *comparison);

/* Whether nothing but the program, its load and the machine's can differ between the runs. */
bool ctl_comparison_is_alike(const struct ctl_comparison *comparison);
/* Whether anything is more or less. */
bool ctl_comparison_has_changes(const struct ctl_comparison *comparison);
/* The report that a flow's names are taken from, the newer one that has it: 0 or 1. */
int ctl_comparison_named_by(const struct ctl_comparison *comparison,
			    const struct ctl_compared_flow *flow,
			    const struct comm_report_edge **ret);
/* What differs between the runs besides the program, and may look like a change of it; "": nothing. */
const char *ctl_comparison_unlike(const struct ctl_comparison *comparison, char *text, size_t size);
/* "82 % (80..84)", "0 to 93 %", "-": none of it.  Returns text. */
const char *ctl_comparison_share(const struct ctl_compared_share *share, int side,
				 char text[CTL_OVERVIEW_SHARE + 3]);

#endif
