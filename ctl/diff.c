// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl diff: which flows changed from one run to another. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "by.h"
#include "change.h"
#include "choice.h"
#include "ctl.h"
#include "filter_options.h"
#include "json.h"
#include "label.h"
#include "number.h"
#include "open.h"
#include "pairing.h"
#include "term.h"

enum {
	KEY_OF = 0x100,
	KEY_FALSE_ALARMS,
	KEY_MARGIN,
	KEY_ACROSS,
	KEY_SELF,
	KEY_ALL,
	KEY_JSON,
	KEY_EXIT_CODE,

	DIFF_LINE = 1024,
	DIFF_TEXT = 64,	   /* one figure with its unit */
	DIFF_FIGURES = 66, /* width of a row before the names */
};

/* One of the two runs: A or B. */
struct side {
	const char *spec; /* as the user named it; NULL: by default */
	const char *path;
	char file[CTL_PATH]; /* what path points to, if spec has a run behind the file's name */
	int64_t run;	     /* 0: the latest */
	struct comm_report *report;
	struct ctl_labels labels;
};

struct row {
	const struct ctl_pair *pair;
	struct ctl_flow flow[2];
	struct ctl_change change;
};

struct diff {
	const char *store;
	struct side side[2];
	int n_specs;
	struct comm_query query;
	enum { OF_ALIKE, OF_RATE, OF_SHARE } of; /* OF_ALIKE: rates of runs that are alike */
	bool of_share, all, json, exit_code;
	double alarm, margin;
	struct ctl_pairing pairing;
	struct row *row; /* largest change first */
	size_t n_rows, n_compared, count[CTL_MORE + 1];
};

static const struct argp_option fixed_options[] = {
	{NULL, 0, NULL, 0, "What is compared:", 2},
	{"store", 's', "FILE", 0,
	 "Of runs given by number; default ./comm.db, else "
	 "/var/lib/commprof/comm.db",
	 0},
	{"of", KEY_OF, "WHAT", 0,
	 "share: of all that is communicated, which does not change with the load; rate: bytes a "
	 "second; default: rate of runs of one program under one budget, else share",
	 0},
	CTL_FILTER_OPTIONS{"across", KEY_ACROSS, NULL, 0,
			   "Only what one thread wrote and another read", 0},
	{"self", KEY_SELF, NULL, 0, "Also edges from a node to itself", 0},
	{NULL, 0, NULL, 0, "Verdicts:", 3},
	{"false-alarms", KEY_FALSE_ALARMS, "PCT", 0,
	 "Chance that any 'more' or 'less' of the whole table is false; default 5", 0},
	{"margin", KEY_MARGIN, "FACTOR", 0,
	 "The same is what changed by less than FACTOR; default 1.5", 0},
	{NULL, 0, NULL, 0, "What is shown:", 4},
	{"all", 'a', NULL, 0, "Also what is the same, and what cannot be told", 0},
	{"json", KEY_JSON, NULL, 0, "Print JSON: all of it", 0},
	{"exit-code", KEY_EXIT_CODE, NULL, 0, "Exit with 4 if anything is more or less", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diff *diff = state->input;

	switch (key) {
	case 's':
		diff->store = arg;
		return 0;
	case KEY_OF:
		diff->of = !strcmp(arg, "share") ? OF_SHARE : OF_RATE;
		if (diff->of == OF_RATE && strcmp(arg, "rate"))
			argp_error(state, "--of wants rate or share, not '%s'", arg);
		return 0;
	case KEY_FALSE_ALARMS:
		diff->alarm = ctl_number_argument(state, "--false-alarms", arg, 0.001, 50) / 100;
		return 0;
	case KEY_MARGIN:
		diff->margin = ctl_number_argument(state, "--margin", arg, 1, 100);
		return 0;
	case KEY_ACROSS:
		diff->query.across = true;
		return 0;
	case KEY_SELF:
		diff->query.self = true;
		return 0;
	case 'a':
		diff->all = true;
		return 0;
	case KEY_JSON:
		diff->json = true;
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
	if (ctl_filter_parse(key, arg, &diff->query) == 0)
		return 0;
	return ctl_by_parse(key, arg, state, &diff->query.by);
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
		diff->side[s].path = diff->store;
		if (diff->side[s].spec)
			ctl_open_which(diff->side[s].spec, diff->store, diff->side[s].file,
				       &diff->side[s].path, &diff->side[s].run);
	}
	if (diff->n_specs == 1)
		diff->side[1].path = diff->side[0].path;
	is_store = diff->n_specs == 1 && !diff->side[0].run;
	return diff->n_specs && !is_store ? CTL_OK : find_previous(&diff->side[0]);
}

static int take_report(const struct diff *diff, struct side *side)
{
	struct comm_query query = diff->query;
	struct comm_reader *reader;
	char *err;
	int code = ctl_open(side->path, &reader, NULL);

	if (code)
		return code;
	query.run = side->run;
	code = comm_reader_report(reader, &query, &side->report, &err);
	comm_reader_close(reader);
	return code ? ctl_error(code, err) : CTL_OK;
}

static int out_of_memory(void)
{
	fprintf(stderr, "commctl: out of memory\n");
	return CTL_FAILURE;
}

/* Whether nothing but the program, its load and the machine's can differ between the runs. */
static bool are_alike(const struct comm_run *a, const struct comm_run *b)
{
	return !strcmp(a->estimator, b->estimator) && !strcmp(a->source, b->source) &&
	       !strcmp(a->event, b->event) && a->granularity_bytes == b->granularity_bytes &&
	       a->overhead_limit == b->overhead_limit;
}

/* The name of a target without its number, which is another after each start. */
static size_t name_length(const char *command)
{
	const char *pid = strstr(command, " (pid ");

	return pid ? (size_t)(pid - command) : strlen(command);
}

/* Rates differ by what the estimator gets wrong at either rate of samples; counts by nothing. */
static bool are_budgets_alike(const struct diff *diff)
{
	const struct comm_report *a = diff->side[0].report, *b = diff->side[1].report;

	return a->exact || b->exact || a->run->overhead_limit == b->run->overhead_limit;
}

/* Rates of different programs or targets differ by their loads. */
static bool are_programs_alike(const struct diff *diff)
{
	const char *a = diff->side[0].report->run->command;
	const char *b = diff->side[1].report->run->command;

	return name_length(a) == name_length(b) && !strncmp(a, b, name_length(a));
}

static int choose_unit(struct diff *diff)
{
	bool budgets = are_budgets_alike(diff);

	diff->of_share = diff->of == OF_SHARE ||
			 (diff->of == OF_ALIKE && !(budgets && are_programs_alike(diff)));
	if (diff->of_share || budgets)
		return CTL_OK;
	fprintf(stderr, "commctl: rates of runs under different --overhead tell nothing of the "
			"program: --of share compares them\n");
	return CTL_USAGE;
}

/* Standard normal quantile for a central interval: 1.645 for 0.9. */
static double normal(double confidence)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* See ctl_pairing_init(). */
static double common_of(const struct diff *diff, double confidence)
{
	const struct comm_report *a = diff->side[0].report, *b = diff->side[1].report;

	if (!are_alike(a->run, b->run))
		return 0;
	return exp(normal(confidence) * log(fmax(a->factor, b->factor)));
}

/* The edges of both reports in pairs, with intervals of a confidence. */
static int take_pairs(struct diff *diff, double confidence)
{
	const struct comm_report *report[2] = {diff->side[0].report, diff->side[1].report};
	struct comm_interval *interval[2];
	int code = CTL_OK;

	for (int s = 0; s < 2; s++)
		interval[s] = calloc(report[s]->n_edges + 1, sizeof(*interval[s]));
	ctl_pairing_deinit(&diff->pairing);
	for (int s = 0; s < 2 && interval[s]; s++)
		comm_report_intervals(report[s], confidence, interval[s]);
	if (!interval[0] || !interval[1] ||
	    ctl_pairing_init(&diff->pairing, report, interval, common_of(diff, confidence)))
		code = out_of_memory();
	free(interval[0]);
	free(interval[1]);
	return code;
}

static double seconds_of(const struct comm_report *report)
{
	return report->enabled_ns / 1e9;
}

static struct ctl_flow flow_of(const struct diff *diff, const struct ctl_pair *pair, int s)
{
	double seconds = seconds_of(diff->side[s].report);

	if (pair->edge[s] == SIZE_MAX)
		return (struct ctl_flow){0};
	if (diff->of_share)
		return (struct ctl_flow){pair->share[s], pair->share_low[s], pair->share_high[s],
					 pair->resolved[s], pair->slices[s]};
	return (struct ctl_flow){pair->bytes[s] / seconds, pair->low[s] / seconds,
				 pair->high[s] / seconds, pair->resolved[s], pair->slices[s]};
}

/* See ctl_change_of(). */
static double exposure(const struct diff *diff)
{
	const struct comm_report *a = diff->side[0].report, *b = diff->side[1].report;

	if (a->exact || b->exact)
		return b->exact ? INFINITY : 0;
	return a->bursts && b->bursts ? (double)b->bursts / a->bursts : 1;
}

static int order_rows(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	double x = fabs(a->flow[1].value - a->flow[0].value);
	double y = fabs(b->flow[1].value - b->flow[0].value);

	if ((a->change.verdict >= CTL_LESS) != (b->change.verdict >= CTL_LESS))
		return a->change.verdict >= CTL_LESS ? -1 : 1;
	if (a->change.verdict < CTL_LESS && a->change.verdict != b->change.verdict)
		return a->change.verdict == CTL_SAME ? -1 : 1;
	return (x < y) - (x > y);
}

/* The chance of a false alarm is shared out evenly over all that is compared (Bonferroni). */
static int compare(struct diff *diff)
{
	double alarm;
	int code = CTL_OK;

	for (int i = 0; i < 2 && !code; i++)
		code = take_report(diff, &diff->side[i]);
	if (!code)
		code = choose_unit(diff);
	if (!code)
		code = take_pairs(diff, diff->side[0].report->confidence);
	if (code)
		return code;
	for (size_t i = 0; i < diff->pairing.n; i++)
		diff->n_compared +=
			diff->pairing.pair[i].resolved[0] || diff->pairing.pair[i].resolved[1];
	alarm = diff->alarm / (diff->n_compared ? (double)diff->n_compared : 1);
	code = take_pairs(diff, 1 - alarm);
	if (code)
		return code;
	diff->row = calloc(diff->pairing.n + 1, sizeof(*diff->row));
	if (!diff->row)
		return out_of_memory();
	for (size_t i = 0; i < diff->pairing.n; i++) {
		struct row *row = &diff->row[diff->n_rows++];

		row->pair = &diff->pairing.pair[i];
		for (int s = 0; s < 2; s++)
			row->flow[s] = flow_of(diff, row->pair, s);
		ctl_change_of(&row->flow[0], &row->flow[1], exposure(diff), alarm, diff->margin,
			      &row->change);
		diff->count[row->change.verdict]++;
	}
	qsort(diff->row, diff->n_rows, sizeof(*diff->row), order_rows);
	return CTL_OK;
}

/* The report that a row's names are taken from: the newer one that has the edge. */
static const struct side *side_of(const struct diff *diff, const struct row *row,
				  const struct comm_report_edge **ret)
{
	int s = row->pair->edge[1] == SIZE_MAX ? 0 : 1;

	*ret = comm_report_edge_at(diff->side[s].report, row->pair->edge[s]);
	return &diff->side[s];
}

/* A tid means nothing in another run: threads of one name are called by their number. */
static void name_end(const struct side *side, size_t i, char name[CTL_LABEL])
{
	const struct comm_node *node = comm_report_node_at(side->report, i);
	size_t length = strlen(node->name);
	const char *key = node->key;

	ctl_clean(name, CTL_LABEL, side->labels.text[i], CTL_LABEL - 1);
	if (node->kind == COMM_NODE_THREAD && !strncmp(key, "thread ", 7) &&
	    strlen(side->labels.text[i]) > length)
		ctl_clean(name, CTL_LABEL, key + 7, CTL_LABEL - 1);
}

static const char *print_value(const struct diff *diff, const struct ctl_flow *flow,
			       char text[DIFF_TEXT])
{
	char number[CTL_NUMBER];

	if (!(flow->value > 0))
		return "-";
	if (diff->of_share)
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

static void print_row(const struct ctl_term *term, const struct diff *diff, const struct row *row)
{
	const struct comm_report_edge *edge;
	const struct side *side = side_of(diff, row, &edge);
	char from[CTL_LABEL], to[CTL_LABEL], a[DIFF_TEXT], b[DIFF_TEXT];
	char low[DIFF_TEXT], high[DIFF_TEXT], times[DIFF_TEXT], range[2 * DIFF_TEXT + 4];

	name_end(side, edge->from, from);
	name_end(side, edge->to, to);
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

static void print_side(const struct ctl_term *term, char letter, const struct side *side)
{
	char start[CTL_NUMBER], length[CTL_NUMBER], name[DIFF_LINE], budget[CTL_NUMBER];
	const struct comm_report *report = side->report;
	const struct comm_run *run = report->run;
	const char *path = side->path ? side->path : ctl_store_default();

	ctl_clean(name, sizeof(name), run->command, 40);
	printf("%s%c%s  run %lld of %s, %s, %s at %s  %s\n", ctl_style(term, CTL_BOLD), letter,
	       ctl_style(term, CTL_PLAIN), (long long)run->id, path,
	       ctl_time(start, run->start_unix_ns),
	       ctl_duration(length, report->to_ns - report->from_ns),
	       run->overhead_limit > 0 ? ctl_percent(budget, run->overhead_limit) : "a fixed rate",
	       name);
}

/* What differs between the runs besides the program, and may look like a change of it. */
static void print_unlike(const struct ctl_term *term, const struct diff *diff)
{
	const struct comm_run *a = diff->side[0].report->run, *b = diff->side[1].report->run;
	char line[DIFF_LINE];

	if (diff->of_share && diff->of == OF_ALIKE)
		ctl_wrap_styled(term, CTL_WARN, 0, 0,
				are_budgets_alike(diff)
					? "The runs are of different programs or targets: compared "
					  "are shares of all that is communicated."
					: "The runs had different budgets: compared are shares of "
					  "all that is communicated.");
	if (are_alike(a, b))
		return;
	snprintf(line, sizeof(line),
		 "The runs were not made alike (%s, %s, %llu bytes; %s, %s, %llu bytes): intervals "
		 "hold all that the estimators may get wrong.",
		 a->source, a->estimator, (unsigned long long)a->granularity_bytes, b->source,
		 b->estimator, (unsigned long long)b->granularity_bytes);
	ctl_wrap_styled(term, CTL_WARN, 0, 0, line);
}

static void print_sum(const struct ctl_term *term, const struct diff *diff)
{
	char line[DIFF_LINE];
	size_t n = 0;

	n = (size_t)snprintf(line, sizeof(line),
			     "%zu more, %zu less, %zu the same within a factor of %.3g, %zu that "
			     "cannot be told apart%s.",
			     diff->count[CTL_MORE], diff->count[CTL_LESS], diff->count[CTL_SAME],
			     diff->margin, diff->count[CTL_CANNOT_TELL],
			     diff->all ? "" : " (--all: list)");
	if (diff->n_compared)
		snprintf(
			line + n, sizeof(line) - n,
			" Compared are the %zu flows that one of the runs resolves. Intervals hold "
			"for all rows together: were nothing changed, the chance of any more or "
			"less would be %.3g %%.",
			diff->n_compared, diff->alarm * 100);
	else
		snprintf(line + n, sizeof(line) - n,
			 " Neither run resolves a flow, so nothing can be compared: see what "
			 "\"commctl report\" says of either.");
	printf("\n");
	ctl_wrap(term, 0, 0, line);
}

static int print_text(struct diff *diff)
{
	struct ctl_term term;
	const char *unit = diff->of_share ? "share" : "rate";

	ctl_term_init(&term);
	for (int s = 0; s < 2; s++)
		if (ctl_labels_init(&diff->side[s].labels, diff->side[s].report))
			return out_of_memory();
	print_side(&term, 'A', &diff->side[0]);
	print_side(&term, 'B', &diff->side[1]);
	print_unlike(&term, diff);
	if (diff->count[CTL_MORE] + diff->count[CTL_LESS] || (diff->all && diff->n_rows))
		printf("\n%s%-11s %7s in A %7s in B %8s  %14s  writer > reader%s\n",
		       ctl_style(&term, CTL_BOLD), "from A to B", unit, unit, "times", "interval",
		       ctl_style(&term, CTL_PLAIN));
	for (size_t i = 0; i < diff->n_rows; i++)
		if (diff->all || diff->row[i].change.verdict >= CTL_LESS)
			print_row(&term, diff, &diff->row[i]);
	print_sum(&term, diff);
	return CTL_OK;
}

static void json_run(struct ctl_json *json, const char *name, const struct side *side)
{
	const struct comm_run *run = side->report->run;

	ctl_json_open(json, name, '{');
	ctl_json_int(json, "run", run->id);
	ctl_json_string(json, "uuid", run->uuid);
	ctl_json_string(json, "target", run->command);
	ctl_json_string(json, "host", run->host);
	ctl_json_string(json, "source", run->source);
	ctl_json_string(json, "estimator", run->estimator);
	ctl_json_count(json, "start_unix_ns", run->start_unix_ns);
	ctl_json_double(json, "seconds", seconds_of(side->report));
	ctl_json_double(json, "overhead_limit", run->overhead_limit);
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

static void print_json(const struct diff *diff)
{
	struct ctl_json json = {0};

	ctl_json_begin(&json);
	json_run(&json, "a", &diff->side[0]);
	json_run(&json, "b", &diff->side[1]);
	ctl_json_string(&json, "by", diff->side[0].report->by->name);
	ctl_json_string(&json, "of", diff->of_share ? "share" : "rate");
	ctl_json_bool(&json, "alike",
		      are_alike(diff->side[0].report->run, diff->side[1].report->run));
	ctl_json_double(&json, "false_alarms", diff->alarm);
	ctl_json_double(&json, "margin", diff->margin);
	ctl_json_count(&json, "compared", diff->n_compared);
	ctl_json_open(&json, "edges", '[');
	for (size_t i = 0; i < diff->n_rows; i++) {
		const struct row *row = &diff->row[i];
		const struct comm_report_edge *edge;
		const struct side *side = side_of(diff, row, &edge);

		ctl_json_open(&json, NULL, '{');
		json_node(&json, "from", comm_report_node_at(side->report, edge->from));
		json_node(&json, "to", comm_report_node_at(side->report, edge->to));
		json_flow(&json, "a", &row->flow[0]);
		json_flow(&json, "b", &row->flow[1]);
		ctl_json_double(&json, "ratio", row->change.ratio);
		ctl_json_double(&json, "low", row->change.low);
		ctl_json_double(&json, "high", row->change.high);
		ctl_json_string(&json, "verdict", ctl_verdict_name(row->change.verdict));
		ctl_json_close(&json, '}');
	}
	ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
}

int ctl_diff(int argc, char **argv)
{
	enum { FIXED = sizeof(fixed_options) / sizeof(*fixed_options) };
	struct argp_option options[CTL_BY_OPTIONS + FIXED];
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[A [B]]",
		.doc = "What changed from run A to run B.\v"
		       "A run is N or LABEL of \"commctl list\"; FILE, a store's latest run; or "
		       "FILE:N, FILE:LABEL. "
		       "Without B it is the latest run, without either the last two are compared.",
	};
	struct diff diff = {.query = COMM_QUERY_INIT, .alarm = 0.05, .margin = 1.5};
	int code;

	ctl_by_options(options, fixed_options, FIXED);
	ctl_choice_parse(&argp, argc, argv, &diff);
	code = choose_sides(&diff);
	code = code ? code : compare(&diff);
	if (!code && diff.json)
		print_json(&diff);
	else if (!code)
		code = print_text(&diff);
	if (!code && diff.exit_code && diff.count[CTL_MORE] + diff.count[CTL_LESS])
		code = CTL_CHANGED;
	for (int s = 0; s < 2; s++) {
		ctl_labels_deinit(&diff.side[s].labels);
		comm_report_free(diff.side[s].report);
	}
	ctl_pairing_deinit(&diff.pairing);
	free(diff.row);
	return code;
}
