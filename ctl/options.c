// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "choice.h"
#include "number.h"
#include "open.h"

enum { OPTIONS_MAX = 2 * CTL_BY_MAX + 64 };

/* Options whose help differs by command have none here. */
static const struct argp_option table[] = {
	{"store", CTL_STORE, "FILE", 0, "The store; " CTL_STORE_DEFAULT, 0},
	{"run", CTL_RUN, "N|LABEL", 0,
	 "A run of \"commctl list\", by number or label; default the latest", 0},
	{"from", CTL_FROM, "TIME", 0, "Since the run's start: 10s, 2m; before its end: -30s", 0},
	{"to", CTL_TO, "TIME", 0, "Likewise; default the end", 0},
	{"thread", CTL_THREAD, "ID|NAME", 0, "What a thread writes or reads; NAME may be 'io_*'",
	 0},
	{"function", CTL_FUNCTION, "NAME", 0,
	 "What a function writes or reads; NAME may be 'lock_*', 'ns::*'", 0},
	{"object", CTL_OBJECT, "NAME", 0, "What goes through a data object, likewise", 0},
	{"first-read", CTL_FIRST_READ, NULL, 0,
	 "Count only the first read of what was written, as with a perfect cache", 0},
	{"fresh", CTL_FRESH, NULL, 0,
	 "Who feeds whom with fresh data, by windows on words drawn at random, not what the "
	 "estimator says",
	 0},
	{"across", CTL_ACROSS, NULL, 0,
	 "Only what one thread wrote and another read, be they in the same function", 0},
	{"self", CTL_SELF, NULL, 0, "Also edges from a node to itself", 0},
	{"by", CTL_BY, "NAME", 0,
	 "One of the following, or several: thread,function; default thread", 0},
	{"top", CTL_TOP, "K", 0, NULL, 0},
	{"min-share", CTL_MIN_SHARE, "PCT", 0, NULL, 0},
	{"all", CTL_ALL, NULL, 0, "Also what is not confirmed, marked ?", 0},
	{"verbose", CTL_VERBOSE, NULL, 0, NULL, 0},
	{"confidence", CTL_CONFIDENCE, "PCT", 0, "Of the intervals; default 90", 0},
	{"as", CTL_AS, "FORM", 0, "A form, see below", 0},
	{"json", CTL_JSON, NULL, 0, "Short for --as json", 0},
	{"csv", CTL_CSV, NULL, 0, "Short for --as csv", 0},
	{"output", CTL_OUTPUT, "FILE", 0, "Where to; default is stdout", 0},
};

/* --run; what is no number is a label. */
static void parse_run(struct argp_state *state, const char *arg, struct comm_query *query)
{
	uint64_t run = 0;

	if (!*arg || *arg == '-' || (ctl_parse_count(arg, INT64_MAX, &run) && !run))
		argp_error(state, "--run wants a run's number, from 1 on, or its label, not '%s'",
			   arg);
	query->run = (int64_t)run;
	query->label = run ? NULL : arg;
}

/* A query takes 0 for the end of the run. */
static int64_t parse_end(struct argp_state *state, const char *arg)
{
	int64_t ns = ctl_time_argument(state, "--to", arg);

	if (!ns)
		argp_error(state, "--to 0 leaves nothing to look at");
	return ns;
}

/* A share between 0 and 1 */
static double parse_confidence(struct argp_state *state, const char *arg)
{
	double share = ctl_percent_argument(state, "--confidence", arg);

	if (share <= 0 || share >= 1)
		argp_error(state, "--confidence wants more than 0 and less than 100");
	return share;
}

void ctl_options_set_form(struct argp_state *state, const char *name)
{
	struct ctl_options *options = state->input;

	if (options->form && strcmp(options->form, name) != 0)
		argp_error(state, "choose one form: %s or %s", options->form, name);
	options->form = name;
}

static void parse_form(struct argp_state *state, const char *arg, const char *forms)
{
	const char *name = forms + strspn(forms, " ");
	size_t n;

	while (n = strcspn(name, " "), n && (strlen(arg) != n || strncmp(name, arg, n) != 0))
		name += n + strspn(name + n, " ");
	if (!n)
		comm_choice_error(state, "form", arg, forms);
	ctl_options_set_form(state, arg);
}

/* Which edges of which run. */
static error_t parse_query(int key, char *arg, struct argp_state *state, struct comm_query *query)
{
	switch (key) {
	case CTL_RUN:
		parse_run(state, arg, query);
		return 0;
	case CTL_FROM:
		query->from_ns = ctl_time_argument(state, "--from", arg);
		return 0;
	case CTL_TO:
		query->to_ns = parse_end(state, arg);
		return 0;
	case CTL_CONFIDENCE:
		query->confidence = parse_confidence(state, arg);
		return 0;
	case CTL_THREAD:
		query->thread = arg;
		return 0;
	case CTL_FUNCTION:
		query->function = arg;
		return 0;
	case CTL_OBJECT:
		query->object = arg;
		return 0;
	case CTL_FIRST_READ:
		query->first_read = true;
		return 0;
	case CTL_FRESH:
		query->fresh = 1;
		return 0;
	case CTL_ACROSS:
		query->across = true;
		return 0;
	case CTL_SELF:
		query->self = true;
		return 0;
	}
	return ctl_by_parse(key, arg, state, &query->by);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ctl_options *options = state->input;
	error_t code = options->own ? options->own(key, arg, state) : ARGP_ERR_UNKNOWN;

	if (code != ARGP_ERR_UNKNOWN)
		return code;
	switch (key) {
	case CTL_STORE:
		options->store = arg;
		return 0;
	case CTL_OUTPUT:
		options->output = arg;
		return 0;
	case CTL_TOP:
		options->query.top = ctl_count_argument(state, "--top", 0, arg);
		options->has_top = true;
		return 0;
	case CTL_MIN_SHARE:
		options->query.min_share = ctl_percent_argument(state, "--min-share", arg);
		options->has_min_share = true;
		return 0;
	case CTL_ALL:
		options->all = true;
		return 0;
	case CTL_VERBOSE:
		options->verbose = true;
		return 0;
	case CTL_AS:
		parse_form(state, arg, options->forms);
		return 0;
	case CTL_JSON:
	case CTL_CSV:
		ctl_options_set_form(state, key == CTL_JSON ? "json" : "csv");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many", arg);
		return 0;
	}
	return parse_query(key, arg, state, &options->query);
}

/* The table's option of that key, as the command has it. */
static struct argp_option filled(const struct argp_option *taken)
{
	struct argp_option option;
	size_t i = 0;

	while (table[i].key != taken->key)
		if (++i == sizeof(table) / sizeof(*table))
			abort();
	option = table[i];
	option.group = taken->group;
	option.doc = taken->doc ? taken->doc : option.doc;
	return option;
}

void ctl_options_parse(const struct argp *argp, const char *forms, int argc, char **argv,
		       struct ctl_options *options)
{
	struct argp_option all[OPTIONS_MAX];
	struct argp whole = *argp;
	size_t n = 0;

	for (const struct argp_option *one = argp->options;
	     one->name || one->key || one->doc || one->group; one++) {
		if (n + CTL_BY_MAX + 2 > OPTIONS_MAX)
			abort();
		if (one->key == CTL_BY_NAMED)
			n += ctl_by_options(all + n);
		else
			all[n++] = one->key && !one->name ? filled(one) : *one;
	}
	all[n] = (struct argp_option){0};
	whole.options = all;
	whole.parser = parse;
	options->own = argp->parser;
	options->forms = forms;
	comm_choice_parse(&whole, argc, argv, 0, options);
}
