// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl diff: which flows changed from one run to another. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "change.h"
#include "comparison.h"
#include "ctl.h"
#include "json.h"
#include "label.h"
#include "number.h"
#include "open.h"
#include "options.h"
#include "term.h"

enum {
	KEY_OF = 0x100,
	KEY_FALSE_ALARMS,
	KEY_MARGIN,
	KEY_EXIT_CODE,

	DIFF_LINE = 1024,
	DIFF_TEXT = 64,	   /* one figure with its unit */
	DIFF_FIGURES = 66, /* width of a row before the names */
	DIFF_TITLE = 10,   /* of the first screen's parts */
	DIFF_VERDICT = 12, /* and of a verdict behind one */
};

/* One of the two runs: A or B. */
struct side {
	const char *spec; /* as the user named it; NULL: by default */
	const char *path;
	char file[CTL_PATH]; /* what path points to, if spec has a run behind the file's name */
	int64_t run;	     /* 0: the latest */
	struct ctl_labels labels;
};

struct diff {
	struct ctl_options common;
	struct side side[2];
	int n_specs;
	struct ctl_comparison comparison;
	bool exit_code;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_BY_NAMED},
	{.key = CTL_BY},
	{NULL, 0, NULL, 0, "What is compared:", 2},
	{.key = CTL_STORE, .doc = CTL_STORE_OF_RUNS},
	{"of", KEY_OF, "WHAT", 0,
	 "share: of all that is communicated, which does not change with the load; rate: bytes a "
	 "second; default: rate of runs of one program under one budget, else share",
	 0},
	CTL_FILTER_OPTIONS,
	{.key = CTL_ACROSS},
	{.key = CTL_SELF},
	{NULL, 0, NULL, 0, "Verdicts:", 3},
	{"false-alarms", KEY_FALSE_ALARMS, "PCT", 0,
	 "Chance that any 'more' or 'less' of the whole table is false; default 5", 0},
	{"margin", KEY_MARGIN, "FACTOR", 0,
	 "The same is what changed by less than FACTOR; default 1.5", 0},
	{NULL, 0, NULL, 0, "What is shown:", 4},
	{.key = CTL_ALL, .doc = "Also what is the same, and what cannot be told"},
	{.key = CTL_JSON, .doc = "Print JSON: all of it"},
	{"exit-code", KEY_EXIT_CODE, NULL, 0, "Exit with 4 if anything is more or less", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diff *diff = state->input;

	switch (key) {
	case KEY_OF:
		diff->comparison.of = !strcmp(arg, "share") ? CTL_OF_SHARE : CTL_OF_RATE;
		if (diff->comparison.of == CTL_OF_RATE && strcmp(arg, "rate"))
			argp_error(state, "--of wants rate or share, not '%s'", arg);
		return 0;
	case KEY_FALSE_ALARMS:
		diff->comparison.alarm =
			ctl_number_argument(state, "--false-alarms", arg, 0.001, 50) / 100;
		return 0;
	case KEY_MARGIN:
		diff->comparison.margin = ctl_number_argument(state, "--margin", arg, 1, 100);
		return 0;
	case KEY_EXIT_CODE:
		diff->exit_code = true;
		return 0;
	case ARGP_KEY_ARG:
		if (diff->n_specs == 2)
			argp_error(state, "two runs are compared: '%s' is one too many", arg);
		diff->side[diff->n_specs++].spec = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* The run before the latest one of a store. */
static int find_previous(struct side *side)
{
	struct comm_reader *reader;
	struct comm_runs *runs;
	char *err;
	size_t n;
	int code = ctl_open(side->path, &reader, NULL);

	if (code)
		return code;
	code = comm_reader_runs(reader, &runs, &err);
	comm_reader_close(reader);
	if (code)
		return ctl_error(code, err);
	n = comm_runs_count(runs);
	if (n >= 2)
		side->run = comm_runs_at(runs, n - 2)->id;
	comm_runs_free(runs);
	if (n >= 2)
		return CTL_OK;
	fprintf(stderr,
		"commctl: there is nothing to compare: the store holds %s; name two runs, "
		"as in \"commctl diff before.db after.db\"\n",
		n ? "one run alone" : "no run");
	return CTL_NO_DATA;
}

/* What is not named is of the store that is: its latest run, and the one before. */
static int choose_sides(struct diff *diff)
{
	bool is_store;

	for (int s = 0; s < 2; s++) {
		diff->side[s].path = diff->common.store;
		if (diff->side[s].spec)
			ctl_open_which(diff->side[s].spec, diff->common.store, diff->side[s].file,
				       &diff->side[s].path, &diff->side[s].run);
	}
	if (diff->n_specs == 1)
		diff->side[1].path = diff->side[0].path;
	is_store = diff->n_specs == 1 && !diff->side[0].run;
	return diff->n_specs && !is_store ? CTL_OK : find_previous(&diff->side[0]);
}

static int compare(struct diff *diff)
{
	const struct comm_query *query = &diff->common.query;
	bool is_part = query->thread || query->writer || query->function || query->object ||
		       query->first_read || query->fresh || query->across || query->self;
	struct comm_reader *reader[2] = {NULL, NULL};
	int64_t run[2] = {diff->side[0].run, diff->side[1].run};
	bool with_screen = !query->by && !is_part;
	char *err = NULL;
	int code = CTL_OK;

	diff->comparison.query = *query;
	/* The first screen is of all, so a part is by thread. */
	if (is_part && !query->by)
		diff->comparison.query.by = "thread";
	for (int s = 0; s < 2 && !code; s++)
		code = ctl_open(diff->side[s].path, &reader[s], NULL);
	if (!code) {
		int failed = ctl_comparison_init(&diff->comparison, reader, run, with_screen, &err);

		code = failed ? ctl_error(failed, err) : CTL_OK;
		code = failed == -EDOM ? CTL_USAGE : code;
	}
	for (int s = 0; s < 2; s++)
		comm_reader_close(reader[s]);
	return code;
}

/* A tid means nothing in another run: threads of one name are called by their number. */
static void name_end(const struct diff *diff, int side, size_t i, char name[CTL_LABEL])
{
	const struct comm_node *node = comm_report_node_at(diff->comparison.report[side], i);
	const char *label = diff->side[side].labels.text[i], *key = node->key;

	ctl_clean(name, CTL_LABEL, label, CTL_LABEL - 1);
	if (node->kind == COMM_NODE_THREAD && !strncmp(key, "thread ", 7) &&
	    strlen(label) > strlen(node->name))
		ctl_clean(name, CTL_LABEL, key + 7, CTL_LABEL - 1);
}

static const char *print_value(const struct diff *diff, const struct ctl_flow *flow,
			       char text[DIFF_TEXT])
{
	char number[CTL_NUMBER];

	if (!(flow->value > 0))
		return "-";
	if (diff->comparison.of_share)
		snprintf(text, DIFF_TEXT, "%s", ctl_percent(number, flow->value));
	else
		snprintf(text, DIFF_TEXT, "%s/s", ctl_bytes(number, flow->value));
	return text;
}

static void print_factor(char text[DIFF_TEXT], double factor)
{
	if (isinf(factor))
		snprintf(text, DIFF_TEXT, "any");
	else
		snprintf(text, DIFF_TEXT,
			 factor >= 99.5	   ? "%.0f"
			 : factor < 0.0095 ? "%.1g"
					   : "%.2g",
			 factor);
}

static void print_row(const struct ctl_term *term, const struct diff *diff,
		      const struct ctl_compared_flow *row)
{
	const struct comm_report_edge *edge;
	int side = ctl_comparison_named_by(&diff->comparison, row, &edge);
	char from[CTL_LABEL], to[CTL_LABEL], a[DIFF_TEXT], b[DIFF_TEXT];
	char low[DIFF_TEXT], high[DIFF_TEXT], times[DIFF_TEXT], range[2 * DIFF_TEXT + 4];

	name_end(diff, side, edge->from, from);
	name_end(diff, side, edge->to, to);
	print_factor(times, row->change.ratio);
	print_factor(low, row->change.low);
	print_factor(high, row->change.high);
	snprintf(range, sizeof(range), "%s..%s", low, high);
	printf("%-11s %12s %12s %8s  %14s  ", ctl_verdict_name(row->change.verdict),
	       print_value(diff, &row->flow[0], a), print_value(diff, &row->flow[1], b),
	       isinf(row->change.ratio) ? "new"
	       : row->change.ratio > 0	? times
					: "gone",
	       range);
	if (DIFF_FIGURES + ctl_columns(from) + ctl_columns(to) + 3 <= term->width)
		printf("%s > %s\n", from, to);
	else
		printf("%s\n%*s> %s\n", from, DIFF_FIGURES - 2, "", to);
}

static void print_side(const struct ctl_term *term, const struct diff *diff, int s)
{
	char start[CTL_NUMBER], length[CTL_NUMBER], name[DIFF_LINE], budget[CTL_NUMBER];
	const struct comm_report *report = diff->comparison.report[s];
	const struct comm_run *run = report->run;
	const char *path = diff->side[s].path ? diff->side[s].path : ctl_store_default();

	ctl_clean(name, sizeof(name), run->command, 40);
	printf("%s%c%s  run %lld of %s, %s, %s at %s  %s\n", ctl_style(term, CTL_BOLD), 'A' + s,
	       ctl_style(term, CTL_PLAIN), (long long)run->id, path,
	       ctl_time(start, run->start_unix_ns),
	       ctl_duration(length, report->to_ns - report->from_ns),
	       run->overhead_limit > 0 ? ctl_limit(budget, run) : "a fixed rate", name);
}

/* The shares of the first screens, in their order. */
static void print_shares(const struct ctl_term *term, const struct diff *diff)
{
	const struct ctl_comparison *c = &diff->comparison;
	const char *title = "";

	for (size_t i = 0; i < c->n_shares; i++) {
		const struct ctl_compared_share *share = &c->share[i];
		char a[CTL_OVERVIEW_SHARE + 3], b[CTL_OVERVIEW_SHARE + 3], text[DIFF_LINE];
		bool is_new = strcmp(title, share->title) != 0;

		/* What a part begins with says what the rest of it is of. */
		if (!is_new && !diff->common.all && share->verdict < CTL_LESS)
			continue;
		title = share->title;
		printf("%s%-*s%s%-*s", ctl_style(term, CTL_BOLD), DIFF_TITLE, is_new ? title : "",
		       ctl_style(term, CTL_PLAIN), DIFF_VERDICT, ctl_verdict_name(share->verdict));
		snprintf(text, sizeof(text), "A %s, B %s: %s", ctl_comparison_share(share, 0, a),
			 ctl_comparison_share(share, 1, b), share->text);
		ctl_wrap(term, DIFF_TITLE + DIFF_VERDICT, DIFF_TITLE + DIFF_VERDICT, text);
	}
}

/* What is printed first: whether anything changed. */
static void print_sum(const struct ctl_term *term, const struct diff *diff)
{
	const struct ctl_comparison *c = &diff->comparison;
	size_t n[CTL_MORE + 1];
	char line[DIFF_LINE];

	for (int i = 0; i <= CTL_MORE; i++)
		n[i] = c->count[i] + c->share_count[i];
	snprintf(line, sizeof(line), "%zu more, %zu less, %zu the same, %zu that cannot be told%s.",
		 n[CTL_MORE], n[CTL_LESS], n[CTL_SAME], n[CTL_CANNOT_TELL],
		 diff->common.all || n[CTL_SAME] + n[CTL_CANNOT_TELL] == 0 ? ""
									   : " (--all lists them)");
	ctl_wrap_styled(term, CTL_BOLD, 0, 0, line);
}

/* How far it is to be trusted. */
static void print_foot(const struct ctl_term *term, const struct diff *diff)
{
	const struct ctl_comparison *c = &diff->comparison;
	size_t compared = c->n_compared + c->n_shares, used = 0;
	char line[DIFF_LINE];

	if (!c->n_compared)
		used = (size_t)snprintf(line, sizeof(line),
					"Neither run confirms a flow%s: see "
					"what \"commctl report\" says of either. ",
					c->n_shares ? " of data of any age"
						    : ", so nothing can be compared");
	if (compared && !c->is_one_run)
		snprintf(
			line + used, sizeof(line) - used,
			"The same is what changed by less than a factor of %.3g%s. Were nothing "
			"changed, the chance of any more or less among these %zu would be %.3g %%.",
			c->margin,
			c->n_shares ? ", of a survey's shares by less than 5 of 100" : "", compared,
			c->alarm * 100);
	else if (!used)
		return;
	printf("\n");
	ctl_wrap(term, 0, 0, line);
}

static int print_text(struct diff *diff)
{
	const struct ctl_comparison *c = &diff->comparison;
	const char *unit = c->of_share ? "share" : "rate";
	struct ctl_term term;
	char line[DIFF_LINE];

	ctl_term_init(&term);
	for (int s = 0; s < 2; s++)
		if (ctl_labels_init(&diff->side[s].labels, c->report[s]))
			return ctl_error(-ENOMEM, NULL);
	for (int s = 0; s < 2; s++)
		print_side(&term, diff, s);
	print_sum(&term, diff);
	if (*ctl_comparison_unlike(c, line, sizeof(line)))
		ctl_wrap_styled(&term, CTL_WARN, 0, 0, line);
	if (c->n_shares)
		printf("\n");
	print_shares(&term, diff);
	if (c->count[CTL_MORE] + c->count[CTL_LESS] || (diff->common.all && c->n_flows)) {
		printf("\n%s%-11s %7s in A %7s in B %8s  %14s  writer > reader%s\n",
		       ctl_style(&term, CTL_BOLD), c->n_shares ? "OLDER" : "from A to B", unit,
		       unit, "times", "interval", ctl_style(&term, CTL_PLAIN));
	}
	for (size_t i = 0; i < c->n_flows; i++)
		if (diff->common.all || c->flow[i].change.verdict >= CTL_LESS)
			print_row(&term, diff, &c->flow[i]);
	print_foot(&term, diff);
	return CTL_OK;
}

static void json_run(struct ctl_json *json, const char *name, const struct comm_report *report)
{
	const struct comm_run *run = report->run;

	ctl_json_open(json, name, '{');
	ctl_json_int(json, "run", run->id);
	ctl_json_string(json, "uuid", run->uuid);
	ctl_json_string(json, "target", run->command);
	ctl_json_string(json, "host", run->host);
	ctl_json_string(json, "source", run->source);
	ctl_json_string(json, "estimator", run->estimator);
	ctl_json_count(json, "start_unix_ns", run->start_unix_ns);
	ctl_json_double(json, "seconds", report->enabled_ns / 1e9);
	ctl_json_double(json, "overhead_limit", run->overhead_limit);
	if (run->overhead_least > 0)
		ctl_json_double(json, "overhead_least", run->overhead_least);
	ctl_json_close(json, '}');
}

static void json_node(struct ctl_json *json, const char *name, const struct comm_node *node)
{
	ctl_json_open(json, name, '{');
	ctl_json_string(json, "key", node->key);
	ctl_json_string(json, "kind", node->kind_name);
	ctl_json_string(json, "name", node->name);
	ctl_json_string(json, "module", node->module);
	ctl_json_close(json, '}');
}

static void json_flow(struct ctl_json *json, const char *name, const struct ctl_flow *flow)
{
	ctl_json_open(json, name, '{');
	ctl_json_double(json, "value", flow->value);
	ctl_json_double(json, "low", flow->low);
	ctl_json_double(json, "high", flow->high);
	ctl_json_bool(json, "resolved", flow->resolved);
	ctl_json_close(json, '}');
}

static void json_flows(struct ctl_json *json, const struct ctl_comparison *c)
{
	ctl_json_open(json, "edges", '[');
	for (size_t i = 0; i < c->n_flows; i++) {
		const struct ctl_compared_flow *flow = &c->flow[i];
		const struct comm_report_edge *edge;
		const struct comm_report *report =
			c->report[ctl_comparison_named_by(c, flow, &edge)];

		ctl_json_open(json, NULL, '{');
		json_node(json, "from", comm_report_node_at(report, edge->from));
		json_node(json, "to", comm_report_node_at(report, edge->to));
		json_flow(json, "a", &flow->flow[0]);
		json_flow(json, "b", &flow->flow[1]);
		ctl_json_double(json, "ratio", flow->change.ratio);
		ctl_json_double(json, "low", flow->change.low);
		ctl_json_double(json, "high", flow->change.high);
		ctl_json_string(json, "verdict", ctl_verdict_name(flow->change.verdict));
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

static void json_shares(struct ctl_json *json, const struct ctl_comparison *c)
{
	static const char *const names[] = {"a", "b"};

	ctl_json_open(json, "survey", '[');
	for (size_t i = 0; i < c->n_shares; i++) {
		const struct ctl_compared_share *share = &c->share[i];

		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "part", share->title);
		ctl_json_string(json, "of", share->text);
		for (int s = 0; s < 2; s++) {
			/* NAN is null: of bounds, and of what the run did not meet. */
			ctl_json_open(json, names[s], '{');
			ctl_json_double(json, "value",
					share->has[s] && !share->is_bound ? share->value[s] : NAN);
			ctl_json_double(json, "low", share->has[s] ? share->low[s] : NAN);
			ctl_json_double(json, "high", share->has[s] ? share->high[s] : NAN);
			ctl_json_close(json, '}');
		}
		ctl_json_string(json, "verdict", ctl_verdict_name(share->verdict));
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

static void print_json(const struct ctl_comparison *c)
{
	struct ctl_json json = {0};

	ctl_json_begin(&json);
	json_run(&json, "a", c->report[0]);
	json_run(&json, "b", c->report[1]);
	ctl_json_string(&json, "by", c->report[0]->by->name);
	ctl_json_string(&json, "of", c->of_share ? "share" : "rate");
	ctl_json_bool(&json, "alike", ctl_comparison_is_alike(c));
	ctl_json_double(&json, "false_alarms", c->alarm);
	ctl_json_double(&json, "margin", c->margin);
	ctl_json_count(&json, "compared", c->n_compared);
	json_shares(&json, c);
	json_flows(&json, c);
	ctl_json_close(&json, '}');
}

int ctl_diff(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "[A [B]]",
		.doc = "What changed from run A to run B.\v"
		       "A run is N or LABEL of \"commctl list\"; FILE, a store's latest run; or "
		       "FILE:N, FILE:LABEL. "
		       "Without B it is the latest run, without either the last two are compared.",
	};
	struct diff diff = {.common.query = COMM_QUERY_INIT,
			    .comparison = {.alarm = 0.05, .margin = 1.5}};
	int code;

	ctl_options_parse(&argp, NULL, argc, argv, &diff.common);
	code = choose_sides(&diff);
	code = code ? code : compare(&diff);
	if (!code && diff.common.form)
		print_json(&diff.comparison);
	else if (!code)
		code = print_text(&diff);
	if (!code && diff.exit_code && ctl_comparison_has_changes(&diff.comparison))
		code = CTL_CHANGED;
	for (int s = 0; s < 2; s++)
		ctl_labels_deinit(&diff.side[s].labels);
	ctl_comparison_deinit(&diff.comparison);
	return code;
}
