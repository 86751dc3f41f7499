// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "by.h"
#include "cacheline_words.h"
#include "choice.h"
#include "counters.h"
#include "ctl.h"
#include "filter_options.h"
#include "form.h"
#include "number.h"
#include "overview.h"
#include "range_options.h"
#include "screen.h"
#include "term.h"
#include "totals.h"

enum {
	KEY_MIN_SHARE = 0x100,
	KEY_SELF,
	KEY_ACROSS,
	KEY_ALL,
	KEY_GUESS,
	KEY_AS,
	KEY_JSON,
	KEY_CSV,
	KEY_COUNTERS,
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
	const char *store;
	struct comm_query query;
	const struct ctl_form *form;
	enum ctl_totals_order order;
	bool has_top, has_min_share, all, call_tree, verbose;
};

/* Text of --help from the table of forms. */
#define FORM_NAME(name, top, min_share_pct, resolved, help) " " #name
#define FORM_TOP(name, top, min_share_pct, resolved, help) ", " #top " as " #name
#define FORM_MIN_SHARE(name, top, min_share_pct, resolved, help) ", " #min_share_pct " as " #name
#define FORM_OPTION(name, top, min_share_pct, resolved, help) \
	{#name, 0, NULL, FORM_IS_DOC, help, 0},
#define FORM_IS_DOC (OPTION_DOC | OPTION_NO_USAGE)

static const struct argp_option fixed_options[] = {
	{NULL, 0, NULL, 0, "What is looked at:", 2},
	CTL_RANGE_OPTIONS,
	CTL_FILTER_OPTIONS{
		"across", KEY_ACROSS, NULL, 0,
		"Only what one thread wrote and another read, be they in the same function", 0},
	{"self", KEY_SELF, NULL, 0, "Also edges from a node to itself", 0},
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
	{"top", 'k', "K", 0, "The K largest edges, 0 for all.  Default by form" CTL_FORMS(FORM_TOP),
	 0},
	{"min-share", KEY_MIN_SHARE, "PCT", 0,
	 "Edges of at least PCT % of the bytes.  Default by form" CTL_FORMS(FORM_MIN_SHARE), 0},
	{"all", 'a', NULL, 0,
	 "Also what is not confirmed, marked ?; all forms but text have it anyway", 0},
	{"guess", KEY_GUESS, NULL, 0,
	 "As --all, and with guesses: who else writes in the same object counts as the writer", 0},
	{"verbose", 'v', NULL, 0,
	 "Text with all that is known of the run: matrix, account, losses, how it was made", 0},
	CTL_RANGE_CONFIDENCE_OPTION,
	{"as", KEY_AS, "FORM", 0, "A form, see below", 0},
	{"json", KEY_JSON, NULL, 0, "Short for --as json", 0},
	{"csv", KEY_CSV, NULL, 0, "Short for --as csv", 0},
	{"dot", KEY_DOT, NULL, 0, "Short for --as dot", 0},
	{NULL, 0, NULL, 0, "FORM is one of:", 4},
	CTL_FORMS(FORM_OPTION)
	/* The end. */
	{0},
};

static void set_form(struct argp_state *state, const char *name)
{
	static const char names[] = CTL_FORMS(FORM_NAME);
	struct options *options = state->input;
	const struct ctl_form *form = ctl_form_find(name);

	if (!form)
		ctl_choice_error(state, "form", name, names);
	else if (options->form && options->form != form)
		argp_error(state, "choose one form: %s or %s", options->form->name, form->name);
	options->form = form;
}

static void set_order(struct argp_state *state, const char *name)
{
	struct options *options = state->input;
	int order = 0;

	while (order < CTL_TOTALS_ORDERS && strcmp(ctl_totals_orders[order], name) != 0)
		order++;
	if (order == CTL_TOTALS_ORDERS)
		ctl_choice_error(state, "order", name, "both written read ratio");
	options->order = order;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;

	switch (key) {
	case KEY_SELF:
		query->self = true;
		return 0;
	case KEY_ACROSS:
		query->across = true;
		return 0;
	case 'k':
		query->top = ctl_count_argument(state, "--top", 0, arg);
		options->has_top = true;
		return 0;
	case KEY_MIN_SHARE:
		query->min_share = ctl_percent_argument(state, "--min-share", arg);
		options->has_min_share = true;
		return 0;
	case 'a':
		options->all = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case KEY_GUESS:
		options->all = true;
		query->guess = 1;
		return 0;
	case KEY_AS:
		set_form(state, arg);
		return 0;
	case KEY_JSON:
		set_form(state, "json");
		return 0;
	case KEY_COUNTERS:
		query->counts = 1;
		return 0;
	case KEY_TOTALS:
		query->totals = 1;
		return 0;
	case KEY_CALL_TREE:
		query->totals = 1;
		options->call_tree = true;
		return 0;
	case KEY_SORT:
		set_order(state, arg);
		return 0;
	case KEY_CSV:
		set_form(state, "csv");
		return 0;
	case KEY_DOT:
		set_form(state, "dot");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many", arg);
		return EINVAL;
	}
	if (ctl_range_parse(key, arg, state, &options->store, query) == 0)
		return 0;
	if (ctl_filter_parse(key, arg, query) == 0)
		return 0;
	return ctl_by_parse(key, arg, state, &query->by);
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

	if (options->query.totals) {
		code = ctl_totals_print(&options->query, report, options->form->name,
					options->order);
		if (code == -EINVAL)
			return ctl_error(code, strdup("--totals and --call-tree go with --as text, "
						      "json or csv"));
		return code ? ctl_error(code, NULL) : 0;
	}
	if (!options->query.counts && options->form == ctl_form_find(NULL) && !options->verbose)
		ctl_form_text_brief(&options->query, report);
	else if (!options->query.counts)
		options->form->print(&options->query, report);
	else if (!ctl_counters_print(report, options->form->name))
		return ctl_error(-EINVAL, strdup("--counters go with --as text, json or csv"));
	return 0;
}

/* The other answer: what is rewritten now. */
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
	query.guess = 0;
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
	const struct comm_query *query = &options->query;

	return options->form == ctl_form_find(NULL) && !query->totals && !query->counts &&
	       !query->thread && !query->writer && !query->function && !query->object &&
	       !query->first_read && (is_by_thread(query) || !strcmp(query->by, "role"));
}

/* Nothing in particular is asked for. */
static bool is_first_screen(const struct options *options)
{
	const struct comm_query *query = &options->query;

	return is_overview(options) && !options->verbose && !query->by && !options->all &&
	       !options->has_top && !options->has_min_share && !query->self && !query->across &&
	       !query->fresh;
}

/* The report by roles where that states much more than the one by threads, or NULL. */
static struct comm_report *make_roles(struct comm_reader *reader, struct options *options,
				      const struct comm_report *threads)
{
	struct comm_report *roles;

	if (threads->exact || !threads->n_edges)
		return NULL;
	options->query.by = "role";
	if (comm_reader_report(reader, &options->query, &roles, NULL))
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
	enum { FIXED = sizeof(fixed_options) / sizeof(*fixed_options) };
	struct argp_option all_options[CTL_BY_OPTIONS + FIXED];
	struct argp argp = {
		.options = all_options,
		.parser = parse,
		.doc = "Who wrote the data that others read, as estimated from samples.",
	};
	struct options options = {.query = COMM_QUERY_INIT}, by_role;
	struct comm_report *report, *roles = NULL;
	struct comm_reader *reader;
	char tree_by[BY_BYTES], *err;
	size_t n_threads = 0;
	struct ctl_overview overview;
	int code;

	ctl_by_options(all_options, fixed_options, FIXED);
	ctl_choice_parse(&argp, argc, argv, &options);
	if (!options.form)
		options.form = ctl_form_find(NULL);
	if (!options.has_top)
		options.query.top = options.form->top;
	if (!options.has_min_share)
		options.query.min_share = options.form->min_share_pct / 100;
	options.query.resolved = options.form->resolved && !options.all;
	options.query.unwritten = options.query.totals || options.form == ctl_form_find("json");
	options.query.census = options.form == ctl_form_find("json") && !options.query.totals;
	options.query.cachelines = is_overview(&options);
	if (options.call_tree)
		set_path(&options.query, tree_by);
	code = ctl_open(options.store, &reader, NULL);
	if (code)
		return code;
	if (is_first_screen(&options)) {
		code = ctl_overview_make(reader, &options.query, &overview, &err);
		comm_reader_close(reader);
		if (!code)
			ctl_screen_print(&overview);
		return code ? ctl_error(code, err) : CTL_OK;
	}
	code = comm_reader_report(reader, &options.query, &report, &err);
	/* Pages of threads are no use to a reader who did not ask for them. */
	if (!code && options.form == ctl_form_find(NULL) && !options.query.by &&
	    !options.query.thread && report->n_nodes > MANY_THREADS) {
		n_threads = report->n_nodes;
		comm_report_free(report);
		options.query.by = "role";
		code = comm_reader_report(reader, &options.query, &report, &err);
	} else if (!code && !options.query.by && !options.all && is_overview(&options) &&
		   !(ctl_overview_stated(report) > 0)) {
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
	else if (!code && is_overview(&options) && is_by_thread(&options.query))
		print_roles(reader, &options, report);
	if (!code && is_overview(&options) && report->exact)
		print_ages(reader, &options.query);
	comm_reader_close(reader);
	if (!code)
		print_sharing(report);
	if (!code && is_overview(&options))
		print_windows(report);
	comm_report_free(report);
	return code ? code : CTL_OK;
}
