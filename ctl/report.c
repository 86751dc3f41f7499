// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "by.h"
#include "ctl.h"
#include "form.h"
#include "number.h"
#include "open.h"
#include "run.h"

enum {
	KEY_FROM = 0x100,
	KEY_TO,
	KEY_MIN_SHARE,
	KEY_FIRST_READ,
	KEY_SELF,
	KEY_ACROSS,
	KEY_CONFIDENCE,
	KEY_ALL,
	KEY_GUESS,
	KEY_AS,
	KEY_JSON,
	KEY_CSV,
	KEY_DOT,

	MANY_THREADS = 64,
};

struct options {
	const char *store;
	struct comm_query query;
	const struct ctl_form *form;
	bool has_top, has_min_share, all;
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
	{"store", 's', "FILE", 0, CTL_STORE_HELP, 0},
	{"run", 'r', "N|LABEL", 0, CTL_RUN_HELP, 0},
	{"from", KEY_FROM, "TIME", 0, "Since the run's start: 10s, 2m; before its end: -30s", 0},
	{"to", KEY_TO, "TIME", 0, "Likewise; default the end", 0},
	{"thread", 't', "ID|NAME", 0, "What a thread writes or reads; NAME may be 'io_*'", 0},
	{"first-read", KEY_FIRST_READ, NULL, 0,
	 "Count only the first read of what was written, as with a perfect cache", 0},
	{"across", KEY_ACROSS, NULL, 0,
	 "Only what one thread wrote and another read, be they in the same function", 0},
	{"self", KEY_SELF, NULL, 0, "Also edges from a node to itself", 0},
	{NULL, 0, NULL, 0, "What is shown:", 3},
	{"top", 'k', "K", 0, "The K largest edges, 0 for all.  Default by form" CTL_FORMS(FORM_TOP),
	 0},
	{"min-share", KEY_MIN_SHARE, "PCT", 0,
	 "Edges of at least PCT % of the bytes.  Default by form" CTL_FORMS(FORM_MIN_SHARE), 0},
	{"all", 'a', NULL, 0,
	 "Also what is not resolved, marked ?; all forms but text have it anyway", 0},
	{"guess", KEY_GUESS, NULL, 0,
	 "As --all, and with guesses: who else writes in the same object counts as the writer", 0},
	{"confidence", KEY_CONFIDENCE, "PCT", 0, "Of the intervals; default 90", 0},
	{"as", KEY_AS, "FORM", 0, "A form, see below", 0},
	{"json", KEY_JSON, NULL, 0, "Short for --as json", 0},
	{"csv", KEY_CSV, NULL, 0, "Short for --as csv", 0},
	{"dot", KEY_DOT, NULL, 0, "Short for --as dot", 0},
	{NULL, 0, NULL, 0, "FORM is one of:", 4},
	CTL_FORMS(FORM_OPTION)
	/* The end. */
	{0},
};

static double parse_percent(struct argp_state *state, const char *option, const char *arg)
{
	double percent;
	char *end;

	percent = strtod(arg, &end);
	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(percent >= 0 && percent <= 100))
		argp_error(state, "%s wants a number from 0 to 100, not '%s'", option, arg);
	return percent / 100;
}

static int64_t parse_time(struct argp_state *state, const char *option, const char *arg)
{
	int64_t ns = 0;

	if (comm_parse_duration(arg, &ns))
		argp_error(state, "%s wants a time such as 10s, 2m or -30s, not '%s'", option, arg);
	return ns;
}

static uint64_t parse_count(struct argp_state *state, const char *option, uint64_t min,
			    const char *arg)
{
	uint64_t n = 0;

	if (!ctl_parse_count(arg, INT64_MAX, &n) || n < min)
		argp_error(state, "%s wants a whole number from %d on, not '%s'", option, (int)min,
			   arg);
	return n;
}

static void set_form(struct argp_state *state, const char *name)
{
	static const char names[] = CTL_FORMS(FORM_NAME);
	struct options *options = state->input;
	const struct ctl_form *form = ctl_form_find(name);

	if (!form)
		argp_error(state, "there is no form '%s'; choose one of%s", name, names);
	else if (options->form && options->form != form)
		argp_error(state, "choose one form: %s or %s", options->form->name, form->name);
	options->form = form;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;

	switch (key) {
	case 's':
		options->store = arg;
		return 0;
	case 'r':
		ctl_run_parse(state, arg, query);
		return 0;
	case KEY_FROM:
		query->from_ns = parse_time(state, "--from", arg);
		return 0;
	case KEY_TO:
		query->to_ns = parse_time(state, "--to", arg);
		if (!query->to_ns)
			argp_error(state, "--to 0 leaves nothing to look at");
		return 0;
	case 't':
		query->thread = arg;
		return 0;
	case KEY_FIRST_READ:
		query->first_read = true;
		return 0;
	case KEY_SELF:
		query->self = true;
		return 0;
	case KEY_ACROSS:
		query->across = true;
		return 0;
	case 'k':
		query->top = parse_count(state, "--top", 0, arg);
		options->has_top = true;
		return 0;
	case KEY_MIN_SHARE:
		query->min_share = parse_percent(state, "--min-share", arg);
		options->has_min_share = true;
		return 0;
	case KEY_CONFIDENCE:
		query->confidence = parse_percent(state, "--confidence", arg);
		if (query->confidence <= 0 || query->confidence >= 1)
			argp_error(state, "--confidence wants more than 0 and less than 100");
		return 0;
	case 'a':
		options->all = true;
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
	return ctl_by_parse(key, arg, state, &query->by);
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
	struct options options = {.query = COMM_QUERY_INIT};
	struct comm_report *report;
	struct comm_reader *reader;
	size_t n_threads = 0;
	char *err;
	int code;

	ctl_by_options(all_options, fixed_options, FIXED);
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.form)
		options.form = ctl_form_find(NULL);
	if (!options.has_top)
		options.query.top = options.form->top;
	if (!options.has_min_share)
		options.query.min_share = options.form->min_share_pct / 100;
	options.query.resolved = options.form->resolved && !options.all;
	code = ctl_open(options.store, &reader, NULL);
	if (code)
		return code;
	code = comm_reader_report(reader, &options.query, &report, &err);
	/* Pages of threads are no use to a reader who did not ask for them. */
	if (!code && options.form == ctl_form_find(NULL) && !options.query.by &&
	    !options.query.thread && report->n_nodes > MANY_THREADS) {
		n_threads = report->n_nodes;
		comm_report_free(report);
		options.query.by = "role";
		code = comm_reader_report(reader, &options.query, &report, &err);
	}
	comm_reader_close(reader);
	if (code)
		return ctl_error(code, err);
	options.form->print(&options.query, report);
	if (n_threads)
		printf("\nThese are roles, for there are %zu threads: --by-thread shows each.\n",
		       n_threads);
	comm_report_free(report);
	return CTL_OK;
}
