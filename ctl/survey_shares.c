// SPDX-License-Identifier: GPL-2.0-or-later
#include "survey_shares.h"

#include <stdlib.h>

#include "overview.h"

struct shares {
	struct comm_reader *reader;
	const struct comm_query *query;
	int (*add)(void *data, const char *text, const struct ctl_survey_share *share);
	void *data;
	char **err;
};

static int ask(const struct shares *s, const char *by, bool across, struct comm_report **ret)
{
	struct comm_query query = ctl_overview_query(s->query, by);

	query.fresh = 1;
	query.census = 1;
	query.across = across;
	return comm_reader_report(s->reader, &query, ret, s->err);
}

static int add_waiting(const struct shares *s, const struct comm_report *places)
{
	char text[CTL_OVERVIEW_LINE] = "all reads that are of loops that wait";
	int code = 0;

	for (size_t i = 0; i < places->n_census && !code; i++) {
		const struct comm_report_census *row = comm_report_census_at(places, i);
		struct ctl_survey_share share = {"WAITING",
						 row->waiting,
						 row->waiting_low,
						 row->waiting_high,
						 false,
						 !i || row->waiting_low >= CTL_OVERVIEW_LEAST};

		if (i)
			ctl_overview_place_text(text, places, row->node, "polls");
		code = s->add(s->data, text, &share);
	}
	return code;
}

static int add_fresh(const struct shares *s, const struct comm_report *places)
{
	static const char *const all[] = {"of what is read besides, changed within 10 ms",
					  "of what is read besides, changed within 1 s",
					  "of what is read besides, changed within 10 s"};
	char text[CTL_OVERVIEW_LINE];
	int code = 0;

	for (int lag = CTL_LAG_10MS; lag <= CTL_LAG_10S && !code; lag++) {
		const struct comm_report_census *row = comm_report_census_at(places, 0);
		struct ctl_survey_share share = {
			"FRESH", row->fresh[lag], row->fresh_low[lag], row->fresh_high[lag], false,
			true};

		code = s->add(s->data, all[lag], &share);
	}
	for (size_t i = 1; i < places->n_census && !code; i++) {
		const struct comm_report_census *row = comm_report_census_at(places, i);
		double low = row->share_low * row->fresh_low[CTL_LAG_1S];
		struct ctl_survey_share share = {"FRESH",	 row->share,
						 row->share_low, row->share_high,
						 false,		 low >= CTL_OVERVIEW_LEAST};

		ctl_overview_place_text(text, places, row->node, "reads");
		code = s->add(s->data, text, &share);
	}
	return code;
}

static int add_flows(const struct shares *s, const struct comm_report *threads,
		     const struct comm_report *functions)
{
	struct ctl_survey_share share = {.title = "FEEDS", .is_bound = true, .is_large = true};
	char text[CTL_OVERVIEW_LINE];
	int code;

	if (!threads->windows)
		return 0;
	ctl_overview_crossing(threads, &share.low, &share.high);
	code = s->add(s->data, "of what changes within 1 s, what comes from another thread",
		      &share);
	for (size_t i = 0; i < functions->n_edges && !code; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(functions, i);
		struct ctl_survey_share flow = {
			"FEEDS",
			edge->share,
			edge->share_low,
			edge->share_high,
			false,
			edge->share_low >= CTL_OVERVIEW_LEAST && share.high >= CTL_OVERVIEW_LEAST};

		ctl_overview_flow_text(text, functions, edge);
		code = s->add(s->data, text, &flow);
	}
	return code;
}

int ctl_survey_shares(struct comm_reader *reader, const struct comm_query *query,
		      int (*add)(void *data, const char *text,
				 const struct ctl_survey_share *share),
		      void *data, char **err)
{
	const struct shares s = {reader, query, add, data, err};
	struct comm_report *places = NULL, *threads = NULL, *functions = NULL;
	int code;

	code = ask(&s, "role,function,object", false, &places);
	if (!code)
		code = ask(&s, "thread", false, &threads);
	if (!code)
		code = ask(&s, "role,function", true, &functions);
	if (!code && places->n_census)
		code = add_waiting(&s, places);
	if (!code && places->n_census)
		code = add_fresh(&s, places);
	if (!code)
		code = add_flows(&s, threads, functions);
	comm_report_free(places);
	comm_report_free(threads);
	comm_report_free(functions);
	return code;
}
