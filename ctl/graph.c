// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl graph: who feeds whom as a graph, of runs or of the phases of a run. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "by.h"
#include "ctl.h"
#include "drawing.h"
#include "number.h"
#include "open.h"
#include "output.h"

enum {
	KEY_AS = 0x100,
	KEY_SVG,
	KEY_OBJECTS,
	KEY_PHASES,
	KEY_FROM,
	KEY_TO,
	KEY_WRITER,
	KEY_FIRST_READ,
	KEY_ACROSS,
	KEY_SELF,
	KEY_MIN_SHARE,
	KEY_MIN_BYTES,
	KEY_RESOLVED,
	KEY_GUESS,
	KEY_CONFIDENCE,

	GRAPH_RUNS = 16,
	GRAPH_PHASES = 4, /* unless the user says how long they are */
};

struct drawing {
	const char *name;
	size_t top;
	double min_share_pct;
	size_t phases;
	int (*draw)(const struct ctl_panels *panels, FILE *out);
};

#define DRAWING_LINE(name, top, min_share_pct, phases, help) \
	{#name, top, min_share_pct, phases, ctl_draw_##name},
#define DRAWING_NAME(name, top, min_share_pct, phases, help) " " #name
#define DRAWING_TOP(name, top, min_share_pct, phases, help) ", " #top " as " #name
#define DRAWING_MIN_SHARE(name, top, min_share_pct, phases, help) ", " #min_share_pct " as " #name
#define DRAWING_OPTION(name, top, min_share_pct, phases, help) \
	{#name, 0, NULL, OPTION_DOC | OPTION_NO_USAGE, help, 0},

static const struct drawing drawings[] = {CTL_DRAWINGS(DRAWING_LINE)};

struct options {
	const char *store, *output;
	const char *run[GRAPH_RUNS];
	size_t n_runs;
	struct comm_query query;
	const struct drawing *drawing;
	bool has_top, has_min_share, phases;
	int64_t phase_ns; /* 0: as the drawing has it */
};

static const struct argp_option fixed_options[] = {
	{"objects", KEY_OBJECTS, NULL, 0,
	 "The data objects between these nodes, too: function, object, function", 1},
	{NULL, 0, NULL, 0, "What is looked at:", 2},
	{"store", 's', "FILE", 0,
	 "Of runs given by number; default ./comm.db, else /var/lib/commprof/comm.db", 0},
	{"from", KEY_FROM, "TIME", 0, "Since the run's start: 10s, 2m; before its end: -30s", 0},
	{"to", KEY_TO, "TIME", 0, "Likewise; default the end", 0},
	{"phases", KEY_PHASES, "DUR", OPTION_ARG_OPTIONAL,
	 "Each phase by itself: whole slices of DUR together at least; default four phases", 0},
	{"thread", 't', "ID|NAME", 0, "What a thread writes or reads; NAME may be 'io_*'", 0},
	{"writer", KEY_WRITER, "ID|NAME", 0, "What a thread writes: where and when it is read", 0},
	{"first-read", KEY_FIRST_READ, NULL, 0, "Count only the first read of what was written", 0},
	{"across", KEY_ACROSS, NULL, 0, "Only what one thread wrote and another read", 0},
	{"self", KEY_SELF, NULL, 0, "Also edges from a node to itself", 0},
	{NULL, 0, NULL, 0, "What is drawn:", 3},
	{"top", 'k', "K", 0, "The K largest edges, 0 for all.  Default" CTL_DRAWINGS(DRAWING_TOP),
	 0},
	{"min-share", KEY_MIN_SHARE, "PCT", 0,
	 "Edges of at least PCT % of the bytes.  Default" CTL_DRAWINGS(DRAWING_MIN_SHARE), 0},
	{"min-bytes", KEY_MIN_BYTES, "SIZE", 0, "Edges of at least SIZE bytes: 4096, 64K, 1.5M", 0},
	{"resolved", KEY_RESOLVED, NULL, 0, "Only edges that the run confirms", 0},
	{"guess", KEY_GUESS, NULL, 0,
	 "With guesses: who else writes in the same object counts as the writer", 0},
	{"confidence", KEY_CONFIDENCE, "PCT", 0, "Of the intervals; default 90", 0},
	{"as", KEY_AS, "FORM", 0, "A form, see below", 0},
	{"svg", KEY_SVG, NULL, 0, "Short for --as svg", 0},
	{"output", 'o', "FILE", 0, "Where to; default is stdout", 0},
	{NULL, 0, NULL, 0, "FORM is one of:", 4},
	CTL_DRAWINGS(DRAWING_OPTION)
	/* The end. */
	{0},
};

static void set_drawing(struct argp_state *state, const char *name)
{
	static const char names[] = CTL_DRAWINGS(DRAWING_NAME);
	struct options *options = state->input;
	const struct drawing *drawing = NULL;

	for (size_t i = 0; i < sizeof(drawings) / sizeof(*drawings); i++)
		if (!strcmp(drawings[i].name, name))
			drawing = &drawings[i];
	if (!drawing)
		argp_error(state, "there is no form '%s'; choose one of%s", name, names);
	else if (options->drawing && options->drawing != drawing)
		argp_error(state, "choose one form: %s or %s", options->drawing->name, name);
	options->drawing = drawing;
}

static int64_t parse_time(struct argp_state *state, const char *option, const char *arg)
{
	int64_t ns = 0;

	if (comm_parse_duration(arg, &ns))
		argp_error(state, "%s wants a time such as 10s, 2m or -30s, not '%s'", option, arg);
	return ns;
}

static double parse_percent(struct argp_state *state, const char *option, const char *arg)
{
	char *end;
	double percent = strtod(arg, &end);

	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(percent >= 0 && percent <= 100))
		argp_error(state, "%s wants a number from 0 to 100, not '%s'", option, arg);
	return percent / 100;
}

static error_t parse_range(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;

	switch (key) {
	case KEY_FROM:
		query->from_ns = parse_time(state, "--from", arg);
		return 0;
	case KEY_TO:
		query->to_ns = parse_time(state, "--to", arg);
		if (!query->to_ns)
			argp_error(state, "--to 0 leaves nothing to look at");
		return 0;
	case KEY_PHASES:
		options->phases = true;
		options->phase_ns = arg ? parse_time(state, "--phases", arg) : 0;
		if (arg && options->phase_ns <= 0)
			argp_error(state, "--phases wants a length of more than 0, not '%s'", arg);
		return 0;
	case 't':
		query->thread = arg;
		return 0;
	case KEY_WRITER:
		query->writer = arg;
		return 0;
	case KEY_FIRST_READ:
		query->first_read = true;
		return 0;
	case KEY_ACROSS:
		query->across = true;
		return 0;
	case KEY_SELF:
		query->self = true;
		return 0;
	}
	return ctl_by_parse(key, arg, state, &query->by);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;
	uint64_t top;

	switch (key) {
	case KEY_AS:
		set_drawing(state, arg);
		return 0;
	case KEY_SVG:
		set_drawing(state, "svg");
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case 's':
		options->store = arg;
		return 0;
	case KEY_OBJECTS:
		query->objects = 1;
		return 0;
	case 'k':
		if (!ctl_parse_count(arg, INT64_MAX, &top))
			argp_error(state, "--top wants a whole number from 0 on, not '%s'", arg);
		query->top = top;
		options->has_top = true;
		return 0;
	case KEY_MIN_SHARE:
		query->min_share = parse_percent(state, "--min-share", arg);
		options->has_min_share = true;
		return 0;
	case KEY_MIN_BYTES:
		if (!ctl_parse_bytes(arg, &query->min_bytes))
			argp_error(state,
				   "--min-bytes wants a size such as 4096, 64K or 1.5M, not '%s'",
				   arg);
		return 0;
	case KEY_RESOLVED:
		query->resolved = 1;
		return 0;
	case KEY_GUESS:
		query->guess = 1;
		return 0;
	case KEY_CONFIDENCE:
		query->confidence = parse_percent(state, "--confidence", arg);
		if (query->confidence <= 0 || query->confidence >= 1)
			argp_error(state, "--confidence wants more than 0 and less than 100");
		return 0;
	case ARGP_KEY_ARG:
		if (options->n_runs == GRAPH_RUNS)
			argp_error(state, "%d runs at most are drawn together", GRAPH_RUNS);
		options->run[options->n_runs++] = arg;
		return 0;
	}
	return parse_range(key, arg, state);
}

/* Adds a run as the user names it; NULL: the latest. */
static int add_run(const struct options *options, struct ctl_panels *panels, const char *name)
{
	size_t n_phases = options->drawing->phases ? options->drawing->phases : GRAPH_PHASES;
	bool phases = options->phases || options->drawing->phases;
	const char *path = options->store;
	struct comm_query query = options->query;
	struct comm_reader *reader;
	char file[CTL_PATH], *err;
	int code;

	if (name)
		ctl_open_which(name, options->store, file, &path, &query.run);
	code = ctl_open(path, &reader, NULL);
	if (code)
		return code;
	code = ctl_panels_add(panels, reader, &query, phases ? n_phases : 0, options->phase_ns,
			      &err);
	comm_reader_close(reader);
	return code ? ctl_error(code, err) : CTL_OK;
}

static int draw(const struct options *options, const struct ctl_panels *panels)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	int code = out ? options->drawing->draw(panels, out) : -errno;

	if (out && (ferror(out) | fclose(out)) && !code)
		code = -ENOMEM;
	if (code < 0)
		code = ctl_error(code, NULL);
	if (!code)
		code = ctl_output_write(options->output, bytes, size);
	free(bytes);
	return code;
}

int ctl_graph(int argc, char **argv)
{
	enum { FIXED = sizeof(fixed_options) / sizeof(*fixed_options) };
	struct argp_option all_options[CTL_BY_OPTIONS + FIXED];
	struct argp argp = {
		.options = all_options,
		.parser = parse,
		.args_doc = "[RUN...]",
		.doc = "Who wrote what others read, as a graph.  RUN is N, a run of \"commctl "
		       "list\", or its label; FILE, the latest run of a store; or FILE:N; several "
		       "are drawn side by side.",
	};
	struct options options = {.query = COMM_QUERY_INIT};
	struct ctl_panels panels = {.query = &options.query};
	int code = CTL_OK;

	ctl_by_options(all_options, fixed_options, FIXED);
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (!options.drawing)
		options.drawing = drawings;
	if (!options.has_top)
		options.query.top = options.drawing->top;
	if (!options.has_min_share)
		options.query.min_share = options.drawing->min_share_pct / 100;
	for (size_t i = 0; i < options.n_runs && !code; i++)
		code = add_run(&options, &panels, options.run[i]);
	if (!options.n_runs)
		code = add_run(&options, &panels, NULL);
	if (!code)
		code = draw(&options, &panels);
	ctl_panels_deinit(&panels);
	return code;
}
