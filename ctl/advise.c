// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * commctl advise: which threads to put together on a machine, and how sure that is; and which
 * data to put apart, for threads share cache lines of it falsely.
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "cacheline_words.h"
#include "ctl.h"
#include "json.h"
#include "label.h"
#include "number.h"
#include "open.h"
#include "pinning.h"
#include "term.h"

enum {
	KEY_OVER = 0x100,
	KEY_PARTS,
	KEY_CPUS,
	KEY_TOPOLOGY,
	KEY_PLACEMENT,
	KEY_ALL_READS,

	ADVISE_LINE = 1024,
	ADVISE_TEXT = 64,
	ADVISE_NAMES = 30,    /* of a part's threads that are listed for people */
	ADVISE_HANDOVERS = 8, /* likewise of edges */
	ADVISE_FIGURES = 59,  /* width of a row of those before the names */
	ADVISE_INTERVAL = 25, /* of which for the interval */
	ADVISE_PLANNED = 10,  /* and for where it would cross */
};

static const struct argp_option argp_options[] = {
	{NULL, 0, NULL, 0, "Of whom:", 1},
	CTL_RANGE_OPTIONS,
	{.key = CTL_BY,
	 .doc = "What is placed as one: thread, the default; role, for pools of threads; process"},
	{"all-reads", KEY_ALL_READS, NULL, 0,
	 "Count each read, not the first ones alone that caches cannot save", 0},
	{NULL, 0, NULL, 0, "On what:", 2},
	{"over", KEY_OVER, "LEVEL", 0,
	 "node: NUMA nodes; cache: last-level caches; cpu; default the first of which there are "
	 "several",
	 0},
	{"parts", KEY_PARTS, "N", 0, "Use so many of them; default as many as cost nothing", 0},
	{"cpus", KEY_CPUS, "LIST", 0, "Use these CPUs alone, such as 0-7,16", 0},
	{"topology", KEY_TOPOLOGY, "FILE", 0,
	 "The run's machine, as \"lscpu -p=CPU,NODE,CACHE\" prints it there, or a copy of its /sys",
	 0},
	{"placement", KEY_PLACEMENT, "FILE", 0,
	 "Where threads run now, as \"taskset -apc PID\" prints it; spread: anywhere; default "
	 "where samples found them",
	 0},
	{NULL, 0, NULL, 0, "What is printed:", 3},
	{.key = CTL_AS, .doc = "A form, see below; default text"},
	{.key = CTL_JSON},
	{NULL, 0, NULL, 0, "FORM is one of:", 4},
	{"text", 0, NULL, OPTION_DOC | OPTION_NO_USAGE, "for people", 0},
	{"json", 0, NULL, OPTION_DOC | OPTION_NO_USAGE, "for programs: one object", 0},
	{"taskset", 0, NULL, OPTION_DOC | OPTION_NO_USAGE, "commands that move threads", 0},
	{"cpuset", 0, NULL, OPTION_DOC | OPTION_NO_USAGE,
	 "commands that make control groups of them", 0},
	{"numactl", 0, NULL, OPTION_DOC | OPTION_NO_USAGE, "what to begin a command with", 0},
	{0},
};

static void parse_by(struct argp_state *state, struct ctl_advice *advise, const char *arg)
{
	if (strcmp(arg, "thread") && strcmp(arg, "role") && strcmp(arg, "process"))
		argp_error(state, "--by wants thread, role or process, not '%s'", arg);
	advise->common.query.by = arg;
	/* Threads of a pool also feed each other. */
	advise->common.query.self = strcmp(arg, "thread") != 0;
}

static void parse_level(struct argp_state *state, struct ctl_advice *advise, const char *arg)
{
	advise->level = 0;
	while (advise->level < CTL_LEVELS && strcmp(ctl_level_name(advise->level), arg))
		advise->level++;
	if (advise->level == CTL_LEVELS)
		argp_error(state, "--over wants node, cache or cpu, not '%s'", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ctl_advice *advise = state->input;

	switch (key) {
	case CTL_BY:
		parse_by(state, advise, arg);
		return 0;
	case KEY_ALL_READS:
		advise->common.query.first_read = false;
		return 0;
	case KEY_OVER:
		parse_level(state, advise, arg);
		return 0;
	case KEY_PARTS:
		if (!ctl_parse_count(arg, CTL_CPUS_MAX, &advise->n_used) || !advise->n_used)
			argp_error(state, "--parts wants a whole number from 1 on, not '%s'", arg);
		return 0;
	case KEY_CPUS:
		if (ctl_cpus_parse(arg, &advise->cpus))
			argp_error(state, "--cpus wants a list such as 0-7,16, not '%s'", arg);
		advise->only_cpus = true;
		return 0;
	case KEY_TOPOLOGY:
		advise->topology_path = arg;
		return 0;
	case KEY_PLACEMENT:
		advise->placement = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int take_report(struct ctl_advice *advise)
{
	struct comm_reader *reader;
	char *err;
	int code = ctl_open(advise->common.store, &reader, NULL);

	if (code)
		return code;
	code = comm_reader_report(reader, &advise->common.query, &advise->report, &err);
	comm_reader_close(reader);
	return code ? ctl_error(code, err) : CTL_OK;
}

/* "  24..36 MiB/s"; of what was counted, nothing. */
static void print_interval(const struct ctl_advice *advise, double low, double high)
{
	char range[CTL_NUMBER];

	if (!advise->report->exact)
		printf(" %22s/s", ctl_range(range, low, high));
}

static void print_rate(const struct ctl_advice *advise, const char *what,
		       const struct ctl_cut_range *range)
{
	char value[CTL_NUMBER];

	printf("%10s/s", ctl_bytes(value, range->value));
	print_interval(advise, range->low, range->high);
	printf("  %s\n", what);
}

/* Of what is stated nothing crosses as planned: an interval of that would be no more than 100 %. */
static bool is_all_gained(const struct ctl_advice *advise)
{
	return advise->advice.gain.low >= 0.9995;
}

/* "how sure", or of what was counted "as counted". */
static void print_sure(const struct ctl_advice *advise, char *line, size_t size)
{
	const struct ctl_cut_advice *advice = &advise->advice;
	char range[CTL_NUMBER];

	if (advise->report->exact)
		snprintf(line, size, "as was counted");
	else
		snprintf(line, size, "%s%sthat it is less is %s%.0f %% sure",
			 is_all_gained(advise) ? ""
					       : ctl_percent_range(range, fmax(0, advice->gain.low),
								   fmin(1, advice->gain.high)),
			 is_all_gained(advise) ? "" : "; ",
			 advice->better < 0.99 ? "" : "more than ", fmin(advice->better * 100, 99));
}

static void print_verdict(const struct ctl_term *term, const struct ctl_advice *advise)
{
	const struct ctl_cut_advice *advice = &advise->advice;
	double undone = advice->unstated_planned - advice->unstated_now;
	char line[ADVISE_LINE], value[CTL_NUMBER], sure[ADVISE_LINE / 4];
	const char *unit = ctl_advice_level_title(advise->parts.level, 2);

	switch (advice->verdict) {
	case CTL_CUT_MOVE:
		print_sure(advise, sure, sizeof(sure));
		if (is_all_gained(advise))
			snprintf(value, sizeof(value), "nothing");
		else
			ctl_percent(value, advice->gain.value);
		snprintf(line, sizeof(line),
			 "Put the threads as below: of what is confirmed %s%s goes from one of "
			 "the %s to another%s (%s).",
			 value, is_all_gained(advise) ? "" : " less", unit,
			 ctl_advice_is_now_unknown(advise) && !is_all_gained(advise)
				 ? " than if they run anywhere"
				 : "",
			 sure);
		break;
	case CTL_CUT_STAY:
		snprintf(line, sizeof(line),
			 "Leave the threads where they are: %s of what they exchange goes from "
			 "one of the %s to another, and %s.",
			 ctl_percent(value, ctl_advice_crosses_now(advise)), unit,
			 advice->gain.value > 0 ? "what can be gained is not worth a move"
						: "no place was found that takes any of that away");
		break;
	default:
		if (!ctl_advice_is_planned(advise)) {
			snprintf(line, sizeof(line),
				 "Cannot tell whether another placement is better: none was found "
				 "that takes 1 %% of it away. A longer run or more --overhead may "
				 "tell.");
			break;
		}
		snprintf(line, sizeof(line),
			 "Cannot tell whether another placement is better: the best found takes "
			 "%.0f %% away, or %.0f to %.0f %%%s. A longer run or more --overhead may "
			 "tell.",
			 advice->gain.value * 100, advice->gain.low * 100, advice->gain.high * 100,
			 advice->gain.low > 0 && undone > 0
				 ? ", and what is not confirmed might undo that"
				 : "");
	}
	printf("%s", ctl_style(term, CTL_BOLD));
	ctl_wrap(term, 0, 0, line);
	printf("%s\n", ctl_style(term, CTL_PLAIN));
}

/* part CTL_CUT_FREE: what is left to run anywhere in the parts that are used. */
static int print_part(const struct ctl_term *term, const struct ctl_advice *advise, size_t part)
{
	const struct ctl_cut_graph *graph = &advise->placing.graph;
	char line[ADVISE_LINE * 8], head[ADVISE_LINE];
	size_t n = 0, at = 0;
	char *cpus;

	if (part == CTL_CUT_FREE) {
		snprintf(head, sizeof(head), "anywhere of these, too large for one:");
	} else {
		cpus = ctl_cpus_text(&advise->parts.part[part].cpus);
		if (!cpus)
			return ctl_error(-ENOMEM, NULL);
		snprintf(head, sizeof(head),
			 "%s %d (%s%.300s), %.2g %s:", ctl_level_name(advise->parts.level),
			 advise->parts.part[part].number,
			 advise->parts.level == CTL_CPU ? "" : "CPUs ", cpus,
			 ctl_advice_load(advise, part),
			 advise->placing.loads ? "CPUs busy" : "threads");
		free(cpus);
	}
	*line = '\0';
	for (size_t v = 0; v < graph->n_vertices; v++) {
		if (advise->plan.part[v] != part || n++ >= ADVISE_NAMES)
			continue;
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%s ",
				       advise->labels.text[advise->placing.node[v]]);
	}
	if (!n)
		return CTL_OK;
	if (n > ADVISE_NAMES)
		snprintf(line + at, sizeof(line) - at, "and %zu others", n - ADVISE_NAMES);
	printf("%s\n  ", head);
	ctl_wrap(term, 2, 2, line);
	return CTL_OK;
}

static void print_handover(const struct ctl_term *term, const struct ctl_advice *advise, size_t e)
{
	const struct ctl_cut_edge *edge = &advise->placing.graph.edge[e];
	const struct comm_report_edge *reported =
		comm_report_edge_at(advise->report, advise->placing.edge[e]);
	char from[CTL_LABEL], to[CTL_LABEL];
	double seconds = reported->bytes / edge->bytes;
	char rate[CTL_NUMBER], now[CTL_NUMBER], planned[CTL_NUMBER];
	int figures = ADVISE_FIGURES - (advise->report->exact ? ADVISE_INTERVAL : 0) -
		      (ctl_advice_is_planned(advise) ? 0 : ADVISE_PLANNED);

	ctl_clean(from, CTL_LABEL, advise->labels.text[reported->from], CTL_LABEL - 1);
	ctl_clean(to, CTL_LABEL, advise->labels.text[reported->to], CTL_LABEL - 1);
	printf("%10s/s", ctl_bytes(rate, edge->bytes));
	print_interval(advise, reported->low / seconds, reported->high / seconds);
	printf(" %9s", ctl_percent(now, edge->now));
	if (ctl_advice_is_planned(advise))
		printf(" %9s", ctl_percent(planned, ctl_cut_crosses(&advise->placing.graph,
								    &advise->plan, edge)));
	printf("  ");
	if (figures + ctl_columns(from) + ctl_columns(to) + 3 <= term->width)
		printf("%s > %s\n", from, to);
	else
		printf("%s\n%*s> %s\n", from, figures - 2, "", to);
}

static void print_foot(const struct ctl_term *term, const struct ctl_advice *advise)
{
	const struct ctl_cut_advice *advice = &advise->advice;
	const struct ctl_cut_graph *graph = &advise->placing.graph;
	char line[ADVISE_LINE], now[CTL_NUMBER], planned[CTL_NUMBER], seen[CTL_NUMBER];
	char lost[CTL_NUMBER];
	size_t n = 0;

	n += (size_t)snprintf(
		line + n, sizeof(line) - n,
		"This rests on the %zu flow%s that the run confirms, %s of the bytes "
		"seen between %s%s.",
		graph->n_stated, graph->n_stated == 1 ? "" : "s",
		ctl_percent(seen, ctl_advice_covered(advise)), advise->report->by->title,
		advise->common.query.first_read ? " (first reads of what was written)" : "");
	if (ctl_advice_unseen(advise) >= 0.0005)
		n += (size_t)snprintf(line + n, sizeof(line) - n,
				      " Of %s of what was read the writer was not seen.",
				      ctl_percent(lost, ctl_advice_unseen(advise)));
	if (graph->n_edges > graph->n_stated && ctl_advice_is_planned(advise))
		n += (size_t)snprintf(line + n, sizeof(line) - n,
				      " What is not confirmed between the same would, by its "
				      "uncertain estimates, go from %s/s to %s/s.",
				      ctl_bytes(now, advice->unstated_now),
				      ctl_bytes(planned, advice->unstated_planned));
	if (advise->placing.n_unknown)
		n += (size_t)snprintf(line + n, sizeof(line) - n,
				      " Where the threads of %zu of the flows ran is not known: "
				      "they are taken to run anywhere. --placement tells.",
				      advise->placing.n_unknown);
	snprintf(line + n, sizeof(line) - n,
		 " Threads without confirmed flows are left to the scheduler.");
	ctl_wrap(term, 0, 0, line);
}

static int print_text(struct ctl_advice *advise)
{
	const struct ctl_cut_graph *graph = &advise->placing.graph;
	const struct comm_run *run = advise->report->run;
	char name[ADVISE_LINE], length[CTL_NUMBER], what[ADVISE_TEXT];
	const struct ctl_cut_advice *advice = &advise->advice;
	const char *interval = advise->report->exact ? "" : "            90 % interval";
	const char *planned = advise->advice.verdict == CTL_CUT_MOVE ? "as below" : "at best";
	struct ctl_term term;
	int code = CTL_OK;

	ctl_term_init(&term);
	if (ctl_labels_init(&advise->labels, advise->report))
		return ctl_error(-ENOMEM, NULL);
	ctl_clean(name, sizeof(name), run->command, term.width > 60 ? term.width - 40 : 20);
	printf("run %lld  %s, %s by %s, on %zu %s\n\n", (long long)run->id, name,
	       ctl_duration(length, advise->report->to_ns - advise->report->from_ns), run->source,
	       advise->parts.n, ctl_advice_level_title(advise->parts.level, advise->parts.n));
	print_verdict(&term, advise);
	printf("%s%12s%s  goes across%s\n", ctl_style(&term, CTL_BOLD), "rate", interval,
	       ctl_style(&term, CTL_PLAIN));
	print_rate(advise,
		   ctl_advice_is_now_unknown(advise) ? "if the threads run anywhere" : "now",
		   &advice->now);
	snprintf(what, sizeof(what), "%s, on %zu of %zu %s", planned, advise->plan.n_used,
		 advise->parts.n, ctl_advice_level_title(advise->parts.level, advise->parts.n));
	if (ctl_advice_is_planned(advise))
		print_rate(advise, what, &advice->planned);
	printf("\n");
	/* What is not advised is not spelt out: somebody would do it. */
	for (size_t p = 0; p < advise->parts.n && advice->verdict == CTL_CUT_MOVE && !code; p++)
		code = print_part(&term, advise, p);
	if (advice->verdict == CTL_CUT_MOVE && !code) {
		code = print_part(&term, advise, CTL_CUT_FREE);
		printf("\n");
	}
	printf("%s%12s%s cross now%s%s  largest hand-overs%s\n", ctl_style(&term, CTL_BOLD), "rate",
	       interval, ctl_advice_is_planned(advise) ? "  " : "",
	       ctl_advice_is_planned(advise) ? planned : "", ctl_style(&term, CTL_PLAIN));
	for (size_t e = 0; e < graph->n_stated && e < ADVISE_HANDOVERS; e++)
		print_handover(&term, advise, e);
	printf("\n");
	print_foot(&term, advise);
	if (!code && advice->verdict == CTL_CUT_MOVE)
		printf("Commands for it: --as taskset, cpuset or numactl\n");
	return code;
}

static void json_range(struct ctl_json *json, const char *name, const struct ctl_cut_range *range)
{
	ctl_json_open(json, name, '{');
	ctl_json_double(json, "value", range->value);
	ctl_json_double(json, "low", range->low);
	ctl_json_double(json, "high", range->high);
	ctl_json_close(json, '}');
}

static int json_parts(struct ctl_json *json, const struct ctl_advice *advise)
{
	ctl_json_open(json, "parts", '[');
	for (size_t p = 0; p < advise->parts.n; p++) {
		char *cpus = ctl_cpus_text(&advise->parts.part[p].cpus);

		if (!cpus)
			return ctl_error(-ENOMEM, NULL);
		ctl_json_open(json, NULL, '{');
		ctl_json_int(json, "number", advise->parts.part[p].number);
		ctl_json_string(json, "cpus", cpus);
		ctl_json_bool(json, "used", advise->plan.used[p]);
		ctl_json_double(json, "load", ctl_advice_load(advise, p));
		ctl_json_close(json, '}');
		free(cpus);
	}
	ctl_json_close(json, ']');
	return CTL_OK;
}

static int json_nodes(struct ctl_json *json, const struct ctl_advice *advise)
{
	const struct ctl_cut_graph *graph = &advise->placing.graph;
	size_t t = 0;

	ctl_json_open(json, "nodes", '[');
	for (size_t v = 0; v < graph->n_vertices; v++) {
		const struct comm_node *node =
			comm_report_node_at(advise->report, advise->placing.node[v]);
		struct ctl_cpus set = ctl_pinning_cpus(&advise->plan, &advise->parts, v);
		char *cpus = ctl_cpus_text(&set);

		if (!cpus)
			return ctl_error(-ENOMEM, NULL);
		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "id", node->id);
		ctl_json_string(json, "key", node->key);
		ctl_json_string(json, "kind", node->kind_name);
		ctl_json_string(json, "name", node->name);
		ctl_json_double(json, "load", graph->vertex[v].load);
		/* null: in any of the parts that are used */
		ctl_json_double(json, "part",
				advise->plan.part[v] == CTL_CUT_FREE
					? NAN
					: advise->parts.part[advise->plan.part[v]].number);
		ctl_json_string(json, "cpus", cpus);
		ctl_json_open(json, "tids", '[');
		for (; t < advise->placing.n_threads && advise->placing.thread[t].vertex == v; t++)
			ctl_json_count(json, NULL, advise->placing.thread[t].tid);
		ctl_json_close(json, ']');
		ctl_json_close(json, '}');
		free(cpus);
	}
	ctl_json_close(json, ']');
	return CTL_OK;
}

static void json_edges(struct ctl_json *json, const struct ctl_advice *advise)
{
	const struct ctl_cut_graph *graph = &advise->placing.graph;

	ctl_json_open(json, "edges", '[');
	for (size_t e = 0; e < graph->n_stated; e++) {
		const struct ctl_cut_edge *edge = &graph->edge[e];
		const struct comm_report_edge *reported =
			comm_report_edge_at(advise->report, advise->placing.edge[e]);

		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "from",
				comm_report_node_at(advise->report, reported->from)->id);
		ctl_json_string(json, "to", comm_report_node_at(advise->report, reported->to)->id);
		ctl_json_double(json, "rate", edge->bytes);
		ctl_json_double(json, "low", reported->low * edge->bytes / reported->bytes);
		ctl_json_double(json, "high", reported->high * edge->bytes / reported->bytes);
		ctl_json_double(json, "crosses_now", edge->now);
		ctl_json_double(json, "crosses_planned",
				ctl_cut_crosses(graph, &advise->plan, edge));
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

/* False sharing alone: "commctl sharing --json" has all lines, and their uses. */
static void json_cachelines(struct ctl_json *json, const struct comm_report *report)
{
	const struct comm_report_cacheline *line;

	ctl_json_open(json, "false_sharing", '[');
	for (size_t i = 0; (line = comm_report_cacheline_at(report, i)); i++) {
		if (!ctl_cacheline_is_false(line))
			continue;
		ctl_json_open(json, NULL, '{');
		ctl_json_string(json, "object", line->object->name);
		ctl_json_string(json, "key", line->object->key);
		if (line->offset != INT64_MIN)
			ctl_json_int(json, "offset", line->offset);
		ctl_json_double(json, "contended", line->contended);
		ctl_json_double(json, "contended_low", line->contended_low);
		ctl_json_double(json, "contended_high", line->contended_high);
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

static int print_json(struct ctl_advice *advise)
{
	const struct ctl_cut_advice *advice = &advise->advice;
	const struct comm_report *report = advise->report;
	struct ctl_json json = {0};
	int code;

	ctl_json_begin(&json);
	ctl_json_open(&json, "run", '{');
	ctl_json_int(&json, "id", report->run->id);
	ctl_json_string(&json, "uuid", report->run->uuid);
	ctl_json_string(&json, "target", report->run->command);
	ctl_json_string(&json, "host", report->run->host);
	ctl_json_string(&json, "source", report->run->source);
	ctl_json_double(&json, "seconds", (double)report->enabled_ns / 1e9);
	ctl_json_close(&json, '}');
	ctl_json_string(&json, "by", report->by->name);
	ctl_json_string(&json, "over", ctl_level_name(advise->parts.level));
	ctl_json_bool(&json, "first_read", advise->common.query.first_read);
	ctl_json_string(&json, "verdict", ctl_cut_verdict_name(advice->verdict));
	json_range(&json, "now", &advice->now);
	json_range(&json, "planned", &advice->planned);
	json_range(&json, "gain", &advice->gain);
	ctl_json_double(&json, "better", advice->better);
	ctl_json_bool(&json, "now_known", !advise->placing.n_unknown);
	ctl_json_string(&json, "load_unit", advise->placing.loads ? "cpus" : "threads");
	ctl_json_double(&json, "covered", ctl_advice_covered(advise));
	ctl_json_double(&json, "unseen", ctl_advice_unseen(advise));
	ctl_json_double(&json, "unstated_now", advice->unstated_now);
	ctl_json_double(&json, "unstated_planned", advice->unstated_planned);
	code = json_parts(&json, advise);
	if (!code)
		code = json_nodes(&json, advise);
	if (code)
		return code;
	json_edges(&json, advise);
	json_cachelines(&json, report);
	ctl_json_close(&json, '}');
	return CTL_OK;
}

/* Commands are for what is certain: they are piped into a shell. */
static int print_commands(const struct ctl_advice *advise)
{
	switch (advise->advice.verdict) {
	case CTL_CUT_MOVE:
		ctl_pinning_find(advise->common.form)(&advise->placing, &advise->plan,
						      &advise->parts);
		return CTL_OK;
	case CTL_CUT_STAY:
		printf("# run %lld: no better placement was found, so there is nothing to do\n",
		       (long long)advise->report->run->id);
		return CTL_OK;
	default:
		fprintf(stderr, "commctl: cannot tell whether another placement is better, so "
				"there is nothing to do; \"commctl advise\" says more\n");
		return CTL_NO_DATA;
	}
}

int ctl_advise(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.doc = "Which threads to put together on the machine's NUMA nodes, caches or CPUs, "
		       "so that less goes from one to another, and how sure that is; and where "
		       "threads share cache lines falsely.",
	};
	static struct ctl_advice advise = {.common.query = COMM_QUERY_INIT, .level = -1};
	struct ctl_term term;
	size_t n_shared = 0;
	int code;

	advise.common.query.by = "thread";
	advise.common.query.cachelines = 1;
	advise.common.query.across = true;
	advise.common.query.first_read = true;
	advise.common.query.places = 1;
	ctl_options_parse(&argp, "text json taskset cpuset numactl", argc, argv, &advise.common);
	if (!advise.common.form)
		advise.common.form = "text";
	code = take_report(&advise);
	/* Which needs no topology, and no flow that is stated. */
	if (!code && !strcmp(advise.common.form, "text")) {
		ctl_term_init(&term);
		n_shared = ctl_cacheline_advise(&term, advise.report);
		fflush(stdout);
	}
	if (!code)
		code = ctl_advice_make(&advise);
	if (!code && !strcmp(advise.common.form, "text"))
		code = print_text(&advise);
	else if (!code && !strcmp(advise.common.form, "json"))
		code = print_json(&advise);
	else if (!code)
		code = print_commands(&advise);
	/* There was something to say. */
	if (code == CTL_NO_DATA && n_shared)
		code = CTL_OK;
	ctl_labels_deinit(&advise.labels);
	ctl_advice_deinit(&advise);
	return code;
}
