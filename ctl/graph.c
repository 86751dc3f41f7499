// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl graph: who feeds whom as a graph, of runs or of the phases of a run. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "by.h"
#include "choice.h"
#include "ctl.h"
#include "drawing.h"
#include "filter_options.h"
#include "number.h"
#include "open.h"
#include "output.h"
#include "range_options.h"

enum {
	KEY_AS = 0x100,
	KEY_SVG,
	KEY_OBJECTS,
	KEY_PHASES,
	KEY_FRAMES,
	KEY_ACYCLIC,
	KEY_WRITER,
	KEY_ACROSS,
	KEY_SELF,
	KEY_MIN_SHARE,
	KEY_MIN_BYTES,
	KEY_RESOLVED,
	KEY_GUESS,

	GRAPH_RUNS = 16,
	GRAPH_BY = 96,	  /* bytes of the groupings' names, joined */
	GRAPH_PHASES = 4, /* where none are found, and the user does not say how long they are */
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
	bool has_top, has_min_share, phases, frames, acyclic;
	int64_t phase_ns;  /* 0: as the drawing has it */
	uint64_t n_frames; /* of a phase, the same */
};

static const struct argp_option fixed_options[] = {
	{"objects", KEY_OBJECTS, NULL, 0,
	 "The data objects between these nodes, too: function, object, function", 1},
	{NULL, 0, NULL, 0, "What is looked at:", 2},
	{"store", 's', "FILE", 0,
	 "Of runs given by number; default ./comm.db, else /var/lib/commprof/comm.db", 0},
	CTL_RANGE_TIMES,
	{"phases", KEY_PHASES, "DUR", OPTION_ARG_OPTIONAL,
	 "Each phase by itself: whole slices of DUR together at least; default those found in the "
	 "run, else four",
	 0},
	{"frames", KEY_FRAMES, "N", OPTION_ARG_OPTIONAL,
	 "Phases of whole slices in which N frames of the program began, at least; default as "
	 "many as without are drawn",
	 0},
	{"acyclic", KEY_ACYCLIC, NULL, 0,
	 "From when it was written to when it was read: all edges lead forward in time", 0},
	CTL_FILTER_OPTIONS{"writer", KEY_WRITER, "ID|NAME", 0,
			   "What a thread writes: where and when it is read", 0},
	{"across", KEY_ACROSS, NULL, 0, "Only what one thread wrote and another read", 0},
	{"self", KEY_SELF, NULL, 0, "Also edges from a node to itself", 0},
	{NULL, 0, NULL, 0, "What is drawn:", 3},
	{"top", 'k', "K", 0, "The K largest edges, 0 for all.  Default" CTL_DRAWINGS(DRAWING_TOP),
	 0},
	{"min-share", KEY_MIN_SHARE, "PCT", 0,
	 "Edges of at least PCT % of the bytes.  Default" CTL_DRAWINGS(DRAWING_MIN_SHARE), 0},
	{"min-bytes", KEY_MIN_BYTES, "SIZE", 0, "Edges of at least SIZE bytes: 4096, 64K, 1.5M", 0},
	{"resolved", KEY_RESOLVED, NULL, 0, "Only edges that are confirmed", 0},
	{"guess", KEY_GUESS, NULL, 0,
	 "With guesses: who else writes in the same object counts as the writer", 0},
	CTL_RANGE_CONFIDENCE_OPTION,
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
		ctl_choice_error(state, "form", name, names);
	else if (options->drawing && options->drawing != drawing)
		argp_error(state, "choose one form: %s or %s", options->drawing->name, name);
	options->drawing = drawing;
}

static error_t parse_range(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;

	switch (key) {
	case KEY_PHASES:
		options->phases = true;
		options->phase_ns = arg ? ctl_time_argument(state, "--phases", arg) : 0;
		if (arg && options->phase_ns <= 0)
			argp_error(state, "--phases wants a length of more than 0, not '%s'", arg);
		return 0;
	case KEY_FRAMES:
		options->frames = true;
		options->n_frames = arg ? ctl_count_argument(state, "--frames", 1, arg) : 0;
		return 0;
	case KEY_ACYCLIC:
		options->acyclic = true;
		return 0;
	case KEY_WRITER:
		query->writer = arg;
		return 0;
	case KEY_ACROSS:
		query->across = true;
		return 0;
	case KEY_SELF:
		query->self = true;
		return 0;
	}
	if (ctl_range_parse(key, arg, state, &options->store, query) == 0)
		return 0;
	if (ctl_filter_parse(key, arg, query) == 0)
		return 0;
	return ctl_by_parse(key, arg, state, &query->by);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;

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
	case KEY_OBJECTS:
		query->objects = 1;
		return 0;
	case 'k':
		query->top = ctl_count_argument(state, "--top", 0, arg);
		options->has_top = true;
		return 0;
	case KEY_MIN_SHARE:
		query->min_share = ctl_percent_argument(state, "--min-share", arg);
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
	bool has_phases = options->drawing->phases > 0;
	const struct ctl_panels_cut cut = {
		.most = has_phases			     ? options->drawing->phases
			: options->phases || options->frames ? GRAPH_PHASES
							     : 0,
		.phase_ns = options->phase_ns,
		.find = options->phases && !options->phase_ns && !has_phases,
		.frames = options->frames,
		.n_frames = options->n_frames,
	};
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
	code = ctl_panels_add(panels, reader, &query, &cut, &err);
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

/* Makes the query one by phases as well, whose nodes acyclic.h puts in order of time. */
static bool unroll(struct options *options, char by[GRAPH_BY])
{
	struct comm_query *query = &options->query;

	if (options->phases || options->frames || query->objects ||
	    (options->drawing->draw != ctl_draw_dot && options->drawing->draw != ctl_draw_svg &&
	     options->drawing->draw != ctl_draw_json)) {
		fputs("commctl: graph --acyclic is drawn as dot, svg or json, without --phases, "
		      "--frames and --objects\n",
		      stderr);
		exit(CTL_USAGE);
	}
	snprintf(by, GRAPH_BY, "%s,phase", query->by ? query->by : "thread");
	query->by = by;
	query->across |= !query->self;
	return true;
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
	char by[GRAPH_BY];
	int code = CTL_OK;

	ctl_by_options(all_options, fixed_options, FIXED);
	ctl_choice_parse(&argp, argc, argv, &options);
	if (!options.drawing)
		options.drawing = drawings;
	if (options.phases && options.frames) {
		fputs("commctl: graph: choose --phases or --frames\n", stderr);
		return CTL_USAGE;
	}
	if (options.acyclic)
		panels.acyclic = unroll(&options, by);
	if (!options.has_top)
		options.query.top = options.drawing->top;
	if (!options.has_min_share)
		options.query.min_share = options.drawing->min_share_pct / 100;
	options.query.unwritten = !strcmp(options.drawing->name, "json");
	for (size_t i = 0; i < options.n_runs && !code; i++)
		code = add_run(&options, &panels, options.run[i]);
	if (!options.n_runs)
		code = add_run(&options, &panels, NULL);
	if (!code)
		code = draw(&options, &panels);
	ctl_panels_deinit(&panels);
	return code;
}
