// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl graph: who feeds whom as a graph, of runs or of the phases of a run. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "ctl.h"
#include "drawing.h"
#include "number.h"
#include "open.h"
#include "options.h"
#include "output.h"

enum {
	KEY_SVG = 0x100,
	KEY_OBJECTS,
	KEY_PHASES,
	KEY_FRAMES,
	KEY_ACYCLIC,
	KEY_WRITER,
	KEY_MIN_BYTES,
	KEY_RESOLVED,

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
	struct ctl_options common;
	const char *run[GRAPH_RUNS];
	size_t n_runs;
	const struct drawing *drawing;
	bool phases, frames, acyclic;
	int64_t phase_ns;  /* 0: as the drawing has it */
	uint64_t n_frames; /* of a phase, the same */
};

static const struct argp_option argp_options[] = {
	{.key = CTL_BY_NAMED},
	{.key = CTL_BY},
	{"objects", KEY_OBJECTS, NULL, 0,
	 "The data objects between these nodes, too: function, object, function", 0},
	{NULL, 0, NULL, 0, "What is looked at:", 2},
	{.key = CTL_STORE, .doc = CTL_STORE_OF_RUNS},
	{.key = CTL_FROM},
	{.key = CTL_TO},
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
	CTL_FILTER_OPTIONS,
	{"writer", KEY_WRITER, "ID|NAME", 0, "What a thread writes: where and when it is read", 0},
	{.key = CTL_ACROSS},
	{.key = CTL_SELF},
	{NULL, 0, NULL, 0, "What is drawn:", 3},
	{.key = CTL_TOP,
	 .doc = "The K largest edges, 0 for all.  Default" CTL_DRAWINGS(DRAWING_TOP)},
	{.key = CTL_MIN_SHARE,
	 .doc = "Edges of at least PCT % of the bytes.  Default" CTL_DRAWINGS(DRAWING_MIN_SHARE)},
	{"min-bytes", KEY_MIN_BYTES, "SIZE", 0, "Edges of at least SIZE bytes: 4096, 64K, 1.5M", 0},
	{"resolved", KEY_RESOLVED, NULL, 0, "Only edges that are confirmed", 0},
	{.key = CTL_CONFIDENCE},
	{.key = CTL_AS},
	{"svg", KEY_SVG, NULL, 0, "Short for --as svg", 0},
	{.key = CTL_OUTPUT},
	{NULL, 0, NULL, 0, "FORM is one of:", 4},
	CTL_DRAWINGS(DRAWING_OPTION)
	/* The end. */
	{0},
};

static const struct drawing *find(const char *name)
{
	size_t i = 0;

	while (name && strcmp(drawings[i].name, name) != 0)
		i++;
	return &drawings[i];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->common.query;

	switch (key) {
	case KEY_SVG:
		ctl_options_set_form(state, "svg");
		return 0;
	case KEY_OBJECTS:
		query->objects = 1;
		return 0;
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
	case KEY_MIN_BYTES:
		if (!ctl_parse_bytes(arg, &query->min_bytes))
			argp_error(state,
				   "--min-bytes wants a size such as 4096, 64K or 1.5M, not '%s'",
				   arg);
		return 0;
	case KEY_RESOLVED:
		query->resolved = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (options->n_runs == GRAPH_RUNS)
			argp_error(state, "%d runs at most are drawn together", GRAPH_RUNS);
		options->run[options->n_runs++] = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
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
	const char *path = options->common.store;
	struct comm_query query = options->common.query;
	struct comm_reader *reader;
	char file[CTL_PATH], *err;
	int code;

	if (name)
		ctl_open_which(name, options->common.store, file, &path, &query.run);
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
		code = ctl_output_write(options->common.output, bytes, size);
	free(bytes);
	return code;
}

/* Makes the query one by phases as well, whose nodes acyclic.h puts in order of time. */
static bool unroll(struct options *options, char by[GRAPH_BY])
{
	struct comm_query *query = &options->common.query;

	if ((options->phases && !options->phase_ns) || options->frames || query->objects ||
	    (options->drawing->draw != ctl_draw_dot && options->drawing->draw != ctl_draw_svg &&
	     options->drawing->draw != ctl_draw_json)) {
		fputs("commctl: graph --acyclic is drawn as dot, svg or json, without "
		      "--frames, --objects, and phases that are found anyway\n",
		      stderr);
		exit(CTL_USAGE);
	}
	snprintf(by, GRAPH_BY, "%s,%s", query->by ? query->by : "thread",
		 options->phases ? "time" : "phase");
	query->piece_ns = (uint64_t)options->phase_ns;
	/* Its nodes are cut, and not the run. */
	options->phases = false;
	options->phase_ns = 0;
	query->by = by;
	query->across |= !query->self;
	return true;
}

int ctl_graph(int argc, char **argv)
{
	static const char forms[] = CTL_DRAWINGS(DRAWING_NAME);
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "[RUN...]",
		.doc = "Who wrote what others read, as a graph.  RUN is N, a run of \"commctl "
		       "list\", or its label; FILE, the latest run of a store; or FILE:N; several "
		       "are drawn side by side.",
	};
	struct options options = {.common.query = COMM_QUERY_INIT};
	struct ctl_panels panels = {.query = &options.common.query};
	char by[GRAPH_BY];
	int code = CTL_OK;

	ctl_options_parse(&argp, forms, argc, argv, &options.common);
	options.drawing = find(options.common.form);
	if (options.phases && options.frames) {
		fputs("commctl: graph: choose --phases or --frames\n", stderr);
		return CTL_USAGE;
	}
	if (options.acyclic)
		panels.acyclic = unroll(&options, by);
	if (!options.common.has_top)
		options.common.query.top = options.drawing->top;
	if (!options.common.has_min_share)
		options.common.query.min_share = options.drawing->min_share_pct / 100;
	options.common.query.unwritten = !strcmp(options.drawing->name, "json");
	for (size_t i = 0; i < options.n_runs && !code; i++)
		code = add_run(&options, &panels, options.run[i]);
	if (!options.n_runs)
		code = add_run(&options, &panels, NULL);
	if (!code)
		code = draw(&options, &panels);
	ctl_panels_deinit(&panels);
	return code;
}
