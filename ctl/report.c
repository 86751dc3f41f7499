// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cacheline_words.h"
#include "choice.h"
#include "counters.h"
#include "ctl.h"
#include "form.h"
#include "number.h"
#include "open.h"
#include "options.h"
#include "overview.h"
#include "screen.h"
#include "term.h"
#include "totals.h"

enum {
	KEY_COUNTERS = 0x100,
	KEY_TOTALS,
	KEY_CALL_TREE,
	KEY_SORT,
	KEY_DOT,

	MANY_THREADS = 64,
	SHARING_S =
		600, /* the end of a run that is looked at for shared lines: an hour takes long */
	BY_BYTES = 128, /* more than names of groupings that can be joined have */
};

struct options {
	struct ctl_options common;
	const struct ctl_form *form;
	enum ctl_totals_order order;
	bool call_tree;
};

/* Text of --help from the table of forms. */
#define FORM_NAME(name, top, min_share_pct, resolved, help) " " #name
#define FORM_TOP(name, top, min_share_pct, resolved, help) ", " #top " as " #name
#define FORM_MIN_SHARE(name, top, min_share_pct, resolved, help) ", " #min_share_pct " as " #name
#define FORM_OPTION(name, top, min_share_pct, resolved, help) \
	{#name, 0, NULL, FORM_IS_DOC, help, 0},
#define FORM_IS_DOC (OPTION_DOC | OPTION_NO_USAGE)

static const struct argp_option argp_options[] = {
	{.key = CTL_BY_NAMED},
	{.key = CTL_BY},
	{NULL, 0, NULL, 0, "What is looked at:", 2},
	CTL_RANGE_OPTIONS,
	CTL_FILTER_OPTIONS,
	{.key = CTL_ACROSS},
	{.key = CTL_SELF},
	{NULL, 0, NULL, 0, "What is shown:", 3},
	{"counters", KEY_COUNTERS, NULL, 0,
	 "CPU time, switches, page faults and the events of the run, by thread, role, process or "
	 "region, as text, json or csv",
	 0},
	{"totals", KEY_TOTALS, NULL, 0,
	 "What each node wrote that others read and read that others wrote, the intensive ones "
	 "marked, "
	 "as text, json or csv",
	 0},
	{"call-tree", KEY_CALL_TREE, NULL, 0,
	 "The same by path of calls, with all that is called inside, as a tree; with --by-thread "
	 "one "
	 "for each thread, with --by-role for each role",
	 0},
	{"sort", KEY_SORT, "ORDER", 0,
	 "Of --totals: by both (default), written, read or ratio (of bytes read and written)", 0},
	{.key = CTL_TOP,
	 .doc = "The K largest edges, 0 for all.  Default by form" CTL_FORMS(FORM_TOP)},
	{.key = CTL_MIN_SHARE,
	 .doc = "Edges of at least PCT % of the bytes.  Default by form" CTL_FORMS(FORM_MIN_SHARE)},
	{.key = CTL_ALL,
	 .doc = "Also what is not confirmed, marked ?; all forms but text have it anyway"},
	{.key = CTL_VERBOSE,
	 .doc = "Text with all that is known of the run: matrix, account, losses, how it was made"},
	{.key = CTL_CONFIDENCE},
	{.key = CTL_AS},
	{.key = CTL_JSON},
	{.key = CTL_CSV},
	{"dot", KEY_DOT, NULL, 0, "Short for --as dot", 0},
	{NULL, 0, NULL, 0, "FORM is one of:", 4},
	CTL_FORMS(FORM_OPTION)
	/* The end. */
	{0},
};

static void set_order(struct argp_state *state, const char *name)
{
	struct options *options = state->input;
	int order = 0;

	while (order < CTL_TOTALS_ORDERS && strcmp(ctl_totals_orders[order], name) != 0)
		order++;
	if (order == CTL_TOTALS_ORDERS)
		comm_choice_error(state, "order", name, "both written read ratio");
	options->order = order;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->common.query;

	switch (key) {
	case KEY_COUNTERS:
		query->counts = 1;
		return 0;
	case KEY_CALL_TREE:
		options->call_tree = true;
	/* fall through */
	case KEY_TOTALS:
		query->totals = 1;
		return 0;
	case KEY_SORT:
		set_order(state, arg);
		return 0;
	case KEY_DOT:
		ctl_options_set_form(state, "dot");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Trees of all, or one for each thread, role, ... */
static void set_path(struct comm_query *query, char tree_by[BY_BYTES])
{
	query->across = !query->self;
	if (query->by && strcmp(query->by, "path") != 0)
		snprintf(tree_by, BY_BYTES, "%s,path", query->by);
	else
		snprintf(tree_by, BY_BYTES, "path");
	query->by = tree_by;
}

static int print(const struct options *options, const struct comm_report *report)
{
	int code;

	if (options->common.query.totals) {
		code = ctl_totals_print(&options->common.query, report, options->form->name,
					options->order);
		if (code == -EINVAL)
			return ctl_error(code, strdup("--totals and --call-tree go with --as text, "
						      "json or csv"));
		return code ? ctl_error(code, NULL) : 0;
	}
	if (!options->common.query.counts && options->form == ctl_form_find(NULL) &&
	    !options->common.verbose)
		ctl_form_text_brief(&options->common.query, report);
	else if (!options->common.query.counts)
		options->form->print(&options->common.query, report);
	else if (!ctl_counters_print(report, options->form->name))
		return ctl_error(-EINVAL, strdup("--counters go with --as text, json or csv"));
	return 0;
}

/* The other answer: what changes now. */
static void print_windows(const struct comm_report *report)
{
	if (report->windows && !report->fresh)
		printf("\n%" PRIu64
		       " window%s on fresh data: --fresh says who feeds whom with it.\n",
		       report->windows, report->windows == 1 ? "" : "s");
}

/* How fresh what is read is: of a run that was counted with ages. */
static void print_ages(struct comm_reader *reader, const struct comm_query *asked)
{
	struct comm_query query = *asked;
	const struct comm_report_census *all;
	struct comm_report *report;
	char ten_ms[CTL_NUMBER], second[CTL_NUMBER], ten_s[CTL_NUMBER], line[256], *err = NULL;
	struct ctl_term term;

	query.by = "role";
	query.fresh = 1;
	query.census = 1;
	query.first_read = 0;
	if (comm_reader_report(reader, &query, &report, &err)) {
		free(err);
		return;
	}
	all = comm_report_census_at(report, 0);
	snprintf(line, sizeof(line),
		 "Written before it is read: %s less than 10 ms, %s less than 1 s, %s less than 10 "
		 "s%s",
		 ctl_percent(ten_ms, all ? all->fresh[0] : 0),
		 ctl_percent(second, all ? all->fresh[1] : 0),
		 ctl_percent(ten_s, all ? all->fresh[2] : 0),
		 asked->fresh ? "." : "; --fresh shows by whom.");
	ctl_term_init(&term);
	putchar('\n');
	ctl_wrap(&term, 0, 0, line);
	comm_report_free(report);
}

/* Who reads how the threads get on should know of lines that they take from each other. */
static void print_sharing(const struct comm_report *report)
{
	size_t stated = 0, falsely = 0;

	for (size_t i = 0; i < report->n_cachelines; i++) {
		const struct comm_report_cacheline *line = comm_report_cacheline_at(report, i);

		stated += line->stated;
		falsely += ctl_cacheline_is_false(line);
	}
	if (stated)
		printf("\n%zu cache line%s from thread to thread, %zu by false sharing: "
		       "commctl sharing.\n",
		       stated, stated == 1 ? " goes" : "s go", falsely);
}

static bool is_by_thread(const struct comm_query *query)
{
	return !query->by || !strcmp(query->by, "thread");
}

/* A text about all threads, not what somebody looks for in particular. */
static bool is_overview(const struct options *options)
{
	const struct comm_query *query = &options->common.query;

	return options->form == ctl_form_find(NULL) && !query->totals && !query->counts &&
	       !query->thread && !query->writer && !query->function && !query->object &&
	       !query->first_read && (is_by_thread(query) || !strcmp(query->by, "role"));
}

/* Nothing in particular is asked for. */
static bool is_first_screen(const struct options *options)
{
	const struct comm_query *query = &options->common.query;

	return is_overview(options) && !options->common.verbose && !query->by &&
	       !options->common.all && !options->common.has_top && !options->common.has_min_share &&
	       !query->self && !query->across && !query->fresh;
}

/* The report by roles where that states much more than the one by threads, or NULL. */
static struct comm_report *make_roles(struct comm_reader *reader, struct options *options,
				      const struct comm_report *threads)
{
	struct comm_report *roles;

	if (threads->exact || !threads->n_edges)
		return NULL;
	options->common.query.by = "role";
	if (comm_reader_report(reader, &options->common.query, &roles, NULL))
		return NULL;
	if (ctl_overview_tells_more(roles, threads))
		return roles;
	comm_report_free(roles);
	return NULL;
}

static void print_roles(struct comm_reader *reader, const struct options *options,
			const struct comm_report *report)
{
	struct options by_role = *options;
	struct comm_report *roles = make_roles(reader, &by_role, report);
	size_t stated = 0;

	if (!roles)
		return;
	for (size_t i = 0; i < roles->n_edges; i++)
		stated += comm_report_edge_at(roles, i)->resolved;
	printf("\nBy roles of threads %.0f %% of what crosses is confirmed, in %zu flow%s: "
	       "--by-role.\n",
	       100 * ctl_overview_stated(roles), stated, stated == 1 ? "" : "s");
	comm_report_free(roles);
}

int ctl_report(int argc, char **argv)
{
	static const char forms[] = CTL_FORMS(FORM_NAME);
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.doc = "Who wrote the data that others read, as estimated from samples.",
	};
	struct options options = {.common.query = COMM_QUERY_INIT}, by_role;
	struct comm_report *report, *roles = NULL;
	struct comm_reader *reader;
	char tree_by[BY_BYTES], *err;
	size_t n_threads = 0;
	struct ctl_overview overview;
	int code;

	ctl_options_parse(&argp, forms, argc, argv, &options.common);
	options.form = ctl_form_find(options.common.form);
	if (!options.common.has_top)
		options.common.query.top = options.form->top;
	if (!options.common.has_min_share)
		options.common.query.min_share = options.form->min_share_pct / 100;
	options.common.query.resolved = options.form->resolved && !options.common.all;
	options.common.query.unwritten =
		options.common.query.totals || options.form == ctl_form_find("json");
	options.common.query.census =
		options.form == ctl_form_find("json") && !options.common.query.totals;
	options.common.query.cachelines = is_overview(&options);
	if (options.call_tree)
		set_path(&options.common.query, tree_by);
	code = ctl_open(options.common.store, &reader, NULL);
	if (code)
		return code;
	if (is_first_screen(&options)) {
		code = ctl_overview_make(reader, &options.common.query, &overview, &err);
		comm_reader_close(reader);
		if (!code)
			ctl_screen_print(&overview);
		return code ? ctl_error(code, err) : CTL_OK;
	}
	code = comm_reader_report(reader, &options.common.query, &report, &err);
	/* Pages of threads are no use to a reader who did not ask for them. */
	if (!code && options.form == ctl_form_find(NULL) && !options.common.query.by &&
	    !options.common.query.thread && report->n_nodes > MANY_THREADS) {
		n_threads = report->n_nodes;
		comm_report_free(report);
		options.common.query.by = "role";
		code = comm_reader_report(reader, &options.common.query, &report, &err);
	} else if (!code && !options.common.query.by && !options.common.all &&
		   is_overview(&options) && !(ctl_overview_stated(report) > 0)) {
		by_role = options;
		roles = make_roles(reader, &by_role, report);
		if (roles) {
			comm_report_free(report);
			report = roles;
			options = by_role;
		}
	}
	if (code) {
		comm_reader_close(reader);
		return ctl_error(code, err);
	}
	code = print(&options, report);
	if (n_threads)
		printf("\nThese are roles, for there are %zu threads: --by-thread shows each.\n",
		       n_threads);
	else if (roles)
		printf("\nThese are roles, for nothing is confirmed by thread: --by-thread "
		       "shows each.\n");
	else if (!code && is_overview(&options) && is_by_thread(&options.common.query))
		print_roles(reader, &options, report);
	if (!code && is_overview(&options) && report->exact)
		print_ages(reader, &options.common.query);
	comm_reader_close(reader);
	if (!code)
		print_sharing(report);
	if (!code && is_overview(&options))
		print_windows(report);
	comm_report_free(report);
	return code ? code : CTL_OK;
}
