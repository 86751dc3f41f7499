// SPDX-License-Identifier: GPL-2.0-or-later
#include "overview.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "term.h"

enum {
	OVERVIEW_LINE = 512,
	OVERVIEW_NAME = 64,
	OVERVIEW_TITLE = 10, /* width of the titles */
	OVERVIEW_SHARE = 20, /* and of shares with their intervals */
	OVERVIEW_WAITING = 4,
	OVERVIEW_FRESH = 3,
	OVERVIEW_FLOWS = 6,
	OVERVIEW_OLDER = 3,
	LAG_10MS = 0,
	LAG_1S = 1,
	LAG_10S = 2,
};

/* A row that is surely less of what it is of is no matter on one screen. */
static const double least_share = 0.02;

struct overview {
	struct comm_reader *reader;
	const struct comm_query *query;
	struct ctl_term term;
	/* Survey by role; by role, function and object; flows of fresh data by these. */
	struct comm_report *roles, *places, *threads, *functions, *older, *lines;
};

static int make(struct overview *o, const char *by, bool fresh, bool across,
		struct comm_report **ret, char **err)
{
	struct comm_query query = COMM_QUERY_INIT;

	query.run = o->query->run;
	query.label = o->query->label;
	query.from_ns = o->query->from_ns;
	query.to_ns = o->query->to_ns;
	query.confidence = o->query->confidence;
	query.by = by;
	query.fresh = fresh;
	query.census = fresh;
	query.across = across;
	query.cachelines = !fresh && !across;
	return comm_reader_report(o->reader, &query, ret, err);
}

static void title(const struct overview *o, const char *text)
{
	printf("%s%-*s%s", ctl_style(&o->term, CTL_BOLD), OVERVIEW_TITLE, text,
	       ctl_style(&o->term, CTL_PLAIN));
}

static void say(const struct overview *o, const char *line)
{
	ctl_wrap(&o->term, OVERVIEW_TITLE, OVERVIEW_TITLE, line);
}

/* "46 % (40..52)", or what a wide interval says for sure: "at least 25 %", "under 8 %". */
static const char *share_text(char text[OVERVIEW_SHARE + 1], double share, double low, double high)
{
	if (high <= 2 * low || (high - low <= 0.1 && low >= 0.01))
		snprintf(text, OVERVIEW_SHARE + 1, "%.0f %% (%.0f..%.0f)", 100 * share, 100 * low,
			 100 * high);
	else if (low >= 0.01)
		snprintf(text, OVERVIEW_SHARE + 1, "at least %.0f %%", floor(100 * low));
	else
		snprintf(text, OVERVIEW_SHARE + 1, "under %.0f %%", fmax(1, ceil(100 * high)));
	return text;
}

static const char *name_of(char name[OVERVIEW_NAME], const struct comm_node *node)
{
	char *end;

	ctl_clean(name, OVERVIEW_NAME, node->name, OVERVIEW_NAME - 1);
	/* A long list of parameters is not worth its room. */
	end = strchr(name, '(');
	if (end > name && end[-1] != ' ' && strlen(name) > OVERVIEW_NAME / 2)
		strcpy(end, "()");
	return name;
}

/* When sampling was disabled for a part of the range. */
static void print_enabled(const struct overview *o)
{
	const struct comm_report *report = o->roles;
	char on[CTL_NUMBER], all[CTL_NUMBER];

	if (report->enabled_ns < report->to_ns - report->from_ns)
		printf("sampling was enabled for %s of these %s\n",
		       ctl_duration(on, report->enabled_ns),
		       ctl_duration(all, report->to_ns - report->from_ns));
}

static void print_head(const struct overview *o)
{
	const struct comm_report *report = o->roles;
	const struct comm_run *run = report->run;
	char length[CTL_NUMBER], cost[CTL_NUMBER], limit[CTL_NUMBER], name[OVERVIEW_NAME];
	char left[OVERVIEW_LINE], right[OVERVIEW_LINE];
	int room;

	ctl_clean(name, sizeof(name), *run->label ? run->label : run->command, sizeof(name) - 1);
	ctl_duration(length, report->to_ns - report->from_ns);
	if (run->overhead_limit > 0)
		snprintf(left, sizeof(left), "run %" PRId64 "  %s, %s at %s", run->id, name, length,
			 ctl_percent(limit, run->overhead_limit));
	else
		snprintf(left, sizeof(left), "run %" PRId64 "  %s, %s", run->id, name, length);
	snprintf(right, sizeof(right), "cost %s of its time%s", ctl_percent(cost, report->overhead),
		 report->overhead_allowed > 0 && report->overhead > report->overhead_allowed
			 ? ": over the limit"
			 : "");
	room = o->term.width - (int)strlen(left);
	if (room > (int)strlen(right) + 1)
		printf("%s%s%s%*s\n", ctl_style(&o->term, CTL_BOLD), left,
		       ctl_style(&o->term, CTL_PLAIN), room - 1, right);
	else
		printf("%s\n%s\n", left, right);
	print_enabled(o);
	if (run->state == COMM_RUN_UNFINISHED)
		printf("its daemon was killed: the last slice is missing\n");
}

/* Rows by what they wait for, the most first. */
static int order_waiting(const void *pa, const void *pb)
{
	const struct comm_report_census *const *a = pa, *const *b = pb;

	return ((*a)->waiting < (*b)->waiting) - ((*a)->waiting > (*b)->waiting);
}

static double fresh_of(const struct comm_report_census *row)
{
	return row->fresh[LAG_1S] * row->share;
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

static const struct comm_node *part(const struct comm_report *report, size_t node, size_t i)
{
	const struct comm_node *joined = comm_report_node_at(report, node);

	return i < joined->n_parts ? joined->parts[i] : joined;
}

static void print_waiting(const struct overview *o)
{
	const struct comm_report_census *all = comm_report_census_at(o->places, 0);
	const struct comm_report_census **rows;
	char share[OVERVIEW_SHARE + 1], line[OVERVIEW_LINE], role[OVERVIEW_NAME];
	char function[OVERVIEW_NAME], object[OVERVIEW_NAME];
	size_t n, shown = 0;

	title(o, "WAITING");
	if (all->waiting_low < least_share) {
		snprintf(line, sizeof(line), "under %.0f %% of the reads are of loops that wait",
			 fmax(1, ceil(100 * all->waiting_high)));
		say(o, line);
		return;
	}
	snprintf(line, sizeof(line), "%s of all reads are of loops that wait",
		 share_text(share, all->waiting, all->waiting_low, all->waiting_high));
	say(o, line);
	rows = sorted(o->places, order_waiting, &n);
	for (size_t i = 0; i < n && shown < OVERVIEW_WAITING; i++) {
		if (rows[i]->waiting_low < least_share)
			break;
		snprintf(line, sizeof(line), "%-*s %s in %s polls %s", OVERVIEW_SHARE - 4,
			 share_text(share, rows[i]->waiting, rows[i]->waiting_low,
				    rows[i]->waiting_high),
			 name_of(function, part(o->places, rows[i]->node, 1)),
			 name_of(role, part(o->places, rows[i]->node, 0)),
			 name_of(object, part(o->places, rows[i]->node, 2)));
		printf("%*s", OVERVIEW_TITLE, "");
		say(o, line);
		shown++;
	}
	free(rows);
}

/* Adds "20 % (17..23) within 10 ms", unless nothing is known of that. */
static bool add_lag(char *line, size_t size, const char *between,
		    const struct comm_report_census *row, int lag, const char *name)
{
	char share[OVERVIEW_SHARE + 1];
	size_t used = strlen(line);

	if (row->fresh_high[lag] - row->fresh_low[lag] > 0.8)
		return false;
	snprintf(line + used, size - used, "%s%s within %s", between,
		 share_text(share, row->fresh[lag], row->fresh_low[lag], row->fresh_high[lag]),
		 name);
	return true;
}

static void print_fresh(const struct overview *o)
{
	const struct comm_report_census *all = comm_report_census_at(o->places, 0);
	const struct comm_report_census **rows;
	char share[OVERVIEW_SHARE + 1], line[OVERVIEW_LINE] = "", role[OVERVIEW_NAME];
	char function[OVERVIEW_NAME], object[OVERVIEW_NAME];
	size_t n, shown = 0;
	bool some;

	title(o, "FRESH");
	snprintf(line, sizeof(line), "of what is read besides, ");
	some = add_lag(line, sizeof(line), "", all, LAG_10MS, "10 ms");
	some |= add_lag(line, sizeof(line), some ? ", " : "", all, LAG_1S, "1 s");
	some |= add_lag(line, sizeof(line), some ? ", " : "", all, LAG_10S, "10 s");
	if (!some) {
		snprintf(line, sizeof(line),
			 "too few reads were drawn (%" PRIu64 ") to say how soon data is rewritten",
			 all->reads);
		say(o, line);
		return;
	}
	snprintf(line + strlen(line), sizeof(line) - strlen(line), " is rewritten");
	say(o, line);
	rows = sorted(o->places, order_fresh, &n);
	for (size_t i = 0; i < n && shown < OVERVIEW_FRESH; i++) {
		double low = rows[i]->share_low * rows[i]->fresh_low[LAG_1S];

		if (low < least_share)
			continue;
		snprintf(line, sizeof(line), "%-*s %s in %s reads %s; ", OVERVIEW_SHARE - 4,
			 share_text(share, rows[i]->share, rows[i]->share_low, rows[i]->share_high),
			 name_of(function, part(o->places, rows[i]->node, 1)),
			 name_of(role, part(o->places, rows[i]->node, 0)),
			 name_of(object, part(o->places, rows[i]->node, 2)));
		add_lag(line, sizeof(line), "", rows[i], LAG_1S, "1 s");
		printf("%*s", OVERVIEW_TITLE, "");
		say(o, line);
		shown++;
	}
	free(rows);
}

static const struct comm_report_part *part_named(const struct comm_report *report, const char *name)
{
	const struct comm_report_part *part = NULL;

	for (size_t i = 0; (part = comm_report_part_at(report, i)); i++)
		if (!strcmp(part->name, name))
			break;
	return part;
}

/*
 * Of what windows stand for, the share that another thread wrote last: at least what was seen to be, and at
 * most that and what is not known.
 */
static void crossing(const struct comm_report *threads, double *ret_low, double *ret_high)
{
	const struct comm_report_part *others = part_named(threads, "others");
	const struct comm_report_part *unseen = part_named(threads, "unseen");

	*ret_low = others->share_low;
	*ret_high = fmin(1, others->share_high + unseen->share);
}

/* "fillBatch in parser", as far as the code is known. */
static void end_text(char *text, size_t size, const struct comm_report *report, size_t node)
{
	char role[OVERVIEW_NAME], function[OVERVIEW_NAME];

	name_of(role, part(report, node, 0));
	name_of(function, part(report, node, 1));
	if (!strcmp(function, "[code not known]"))
		snprintf(text, size, "%s", role);
	else
		snprintf(text, size, "%s in %s", function, role);
}

static void print_flows(const struct overview *o)
{
	char share[OVERVIEW_SHARE + 1], line[OVERVIEW_LINE];
	char from[2 * OVERVIEW_NAME + 8], to[2 * OVERVIEW_NAME + 8];
	double low, high;
	size_t shown = 0;

	title(o, "FEEDS");
	if (!o->threads->windows) {
		say(o, "no window was opened on fresh data: who writes it is not known");
		return;
	}
	crossing(o->threads, &low, &high);
	if (high < least_share)
		snprintf(line, sizeof(line),
			 "of what is rewritten soon, under %.1f %% comes from another thread "
			 "(%" PRIu64 " windows)",
			 fmax(0.1, 100 * high), o->threads->windows);
	else
		snprintf(line, sizeof(line),
			 "of what is rewritten soon, %.0f to %.0f %% comes from another thread "
			 "(%" PRIu64 " windows)%s",
			 floor(100 * low), ceil(100 * high), o->threads->windows,
			 o->functions->n_edges ? "; of what does:" : "");
	say(o, line);
	for (size_t i = 0;
	     high >= least_share && i < o->functions->n_edges && shown < OVERVIEW_FLOWS; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(o->functions, i);

		if (edge->share_low < least_share)
			continue;
		end_text(from, sizeof(from), o->functions, edge->from);
		end_text(to, sizeof(to), o->functions, edge->to);
		snprintf(line, sizeof(line), "%-*s %s > %s", OVERVIEW_SHARE - 4,
			 share_text(share, edge->share, edge->share_low, edge->share_high), from,
			 to);
		printf("%*s", OVERVIEW_TITLE, "");
		say(o, line);
		shown++;
	}
}

static void print_older(const struct overview *o)
{
	char share[OVERVIEW_SHARE + 1], line[OVERVIEW_LINE], from[OVERVIEW_NAME], to[OVERVIEW_NAME];
	size_t shown = 0;

	for (size_t i = 0; i < o->older->n_edges && shown < OVERVIEW_OLDER; i++) {
		const struct comm_report_edge *edge = comm_report_edge_at(o->older, i);

		if (!edge->resolved || edge->from == edge->to)
			continue;
		if (!shown) {
			title(o, "OLDER");
			say(o, "of all data that crosses threads, older included, as estimated:");
		}
		snprintf(line, sizeof(line), "%-*s %s > %s", OVERVIEW_SHARE - 4,
			 share_text(share, edge->share, edge->share_low, edge->share_high),
			 name_of(from, comm_report_node_at(o->older, edge->from)),
			 name_of(to, comm_report_node_at(o->older, edge->to)));
		printf("%*s", OVERVIEW_TITLE, "");
		say(o, line);
		shown++;
	}
}

static void print_lines(const struct overview *o)
{
	size_t stated = 0, falsely = 0;
	char line[OVERVIEW_LINE];

	for (size_t i = 0; i < o->older->n_cachelines; i++) {
		const struct comm_report_cacheline *c = comm_report_cacheline_at(o->older, i);

		stated += c->stated;
		falsely += c->stated && strcmp(c->verdict, "true") != 0;
	}
	if (!stated)
		return;
	title(o, "LINES");
	snprintf(line, sizeof(line),
		 "%zu cache line%s from thread to thread, %zu by false sharing: commctl sharing",
		 stated, stated == 1 ? " goes" : "s go", falsely);
	say(o, line);
}

static void print_next(const struct overview *o)
{
	const struct comm_report_census *all = comm_report_census_at(o->places, 0);

	title(o, "NEXT");
	if (all->waiting_low > 0.5)
		say(o, "its threads mostly wait: look at what they wait for, or use fewer");
	else if (o->threads->windows && o->functions->n_edges)
		say(o, "commctl report --fresh --by function,object shows what they go through");
	else
		say(o, "run for longer, or with a higher --overhead");
}

static void deinit(struct overview *o)
{
	comm_report_free(o->roles);
	comm_report_free(o->places);
	comm_report_free(o->threads);
	comm_report_free(o->functions);
	comm_report_free(o->older);
}

int ctl_overview(struct comm_reader *reader, const struct comm_query *query, bool *ret_done,
		 char **err)
{
	struct overview o = {.reader = reader, .query = query};
	int code;

	*ret_done = false;
	*err = NULL;
	ctl_term_init(&o.term);
	code = make(&o, "role", true, false, &o.roles, err);
	/* What was counted is shown whole. */
	if (!code && o.roles->n_census && !o.roles->exact)
		code = make(&o, "role,function,object", true, false, &o.places, err);
	if (!code && o.places)
		code = make(&o, "thread", true, false, &o.threads, err);
	if (!code && o.places)
		code = make(&o, "role,function", true, true, &o.functions, err);
	if (!code && o.places)
		code = make(&o, "role", false, false, &o.older, err);
	if (!code && o.places) {
		print_head(&o);
		print_waiting(&o);
		print_fresh(&o);
		print_flows(&o);
		print_older(&o);
		print_lines(&o);
		print_next(&o);
		*ret_done = true;
	}
	deinit(&o);
	return code;
}
