// SPDX-License-Identifier: GPL-2.0-or-later
/* The commands that change what a store says of its runs: label and delete. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "open.h"
#include "options.h"

struct options {
	struct ctl_options common;
	const char *label; /* of "label": the last word; NULL: none yet */
	char **runs;
	int n_runs;
	bool labels;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_STORE},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARG:
		/* All that follow, too. */
		options->runs = state->argv + state->next - 1;
		options->n_runs = state->argc - state->next + 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (options->labels && options->n_runs != 2)
			argp_error(state, "name a run and its label, '' for none");
		if (!options->n_runs)
			argp_error(state, "name the runs to delete");
		if (options->labels)
			options->label = options->runs[--options->n_runs];
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int edit_one(const struct options *options, const struct comm_runs *runs, const char *path,
		    const char *name)
{
	int64_t run = ctl_run_find(runs, name);
	char *err;
	int code;

	if (!run) {
		fprintf(stderr, "commctl: the store %s has no run '%s'\n", path, name);
		return CTL_NO_DATA;
	}
	code = options->label ? comm_run_label(path, run, options->label, &err)
			      : comm_run_delete(path, run, &err);
	return code ? ctl_error(code, err) : CTL_OK;
}

static int edit(const struct options *options)
{
	struct comm_reader *reader;
	struct comm_runs *runs;
	const char *path;
	char *err;
	int code = ctl_open(options->common.store, &reader, &path);

	if (code)
		return code;
	code = comm_reader_runs(reader, &runs, &err);
	comm_reader_close(reader);
	if (code)
		return ctl_error(code, err);
	for (int i = 0; i < options->n_runs && !code; i++)
		code = edit_one(options, runs, path, options->runs[i]);
	comm_runs_free(runs);
	return code;
}

int ctl_label(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "RUN TEXT",
		.doc = "Calls a run TEXT, for --run and for diff; '' takes its label away. "
		       "RUN is a number of \"commctl list\", or the label that it has.",
	};
	struct options options = {.labels = true};

	ctl_options_parse(&argp, NULL, argc, argv, &options.common);
	return edit(&options);
}

int ctl_delete(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "RUN...",
		.doc = "Deletes runs from a store for good. The file keeps its size, and what is "
		       "stored next takes the room. RUN is a number of \"commctl list\", or a "
		       "label.",
	};
	struct options options = {0};

	ctl_options_parse(&argp, NULL, argc, argv, &options.common);
	return edit(&options);
}
