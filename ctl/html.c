// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "choice.h"
#include "ctl.h"
#include "output.h"
#include "page.h"
#include "range_options.h"

enum {
	KEY_FIRST_READ = 0x100,
	KEY_SOURCE_DIR,
	KEY_FRESH,
};

struct options {
	const char *store, *output;
	struct comm_query query;
	struct ctl_source source;
};

static const struct argp_option argp_options[] = {
	{"output", 'o', "FILE", 0, "Where to write the page; - is standard output", 0},
	CTL_RANGE_OPTIONS,
	{"first-read", KEY_FIRST_READ, NULL, 0,
	 "Count only the first read of what was written, as with a perfect cache", 0},
	{"fresh", KEY_FRESH, NULL, 0,
	 "Who feeds whom with fresh data, by windows on words drawn at random, not what the "
	 "estimator says",
	 0},
	CTL_RANGE_CONFIDENCE_OPTION,
	{"source-dir", KEY_SOURCE_DIR, "DIR", 0,
	 "Look for source files beneath DIR, and take the lines that are named into the page; may "
	 "be given several times.  Without it the page has no source",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->query;
	int code;

	switch (key) {
	case 'o':
		options->output = arg;
		return 0;
	case KEY_FIRST_READ:
		query->first_read = true;
		return 0;
	case KEY_FRESH:
		query->fresh = 1;
		return 0;
	case KEY_SOURCE_DIR:
		code = ctl_source_add(&options->source, arg);
		if (code)
			argp_error(state, "--source-dir %s: %s", arg, strerror(-code));
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many", arg);
		return EINVAL;
	case ARGP_KEY_END:
		if (!options->output)
			argp_error(state, "say where the page goes: -o FILE");
		return 0;
	}
	return ctl_range_parse(key, arg, state, &options->store, query);
}

static const char doc[] =
	"Writes a run as one HTML page for a browser, which needs no network and no other file: "
	"who feeds whom, by threads, functions and objects, down to lines, and by what else the "
	"run has: roles, processes, callers, marked regions, types, phases and frames; when it was "
	"written and when read; shared cache lines; cost and losses.";

static const struct argp argp = {argp_options, parse, NULL, doc, NULL, NULL, NULL};

/* The page is made in memory, so that a run without data leaves the file as it is. */
int ctl_html(int argc, char **argv)
{
	struct options options = {.query = COMM_QUERY_INIT};
	struct comm_reader *reader;
	char *page = NULL, *err;
	size_t size = 0;
	FILE *out;
	int code;

	ctl_choice_parse(&argp, argc, argv, &options);
	code = ctl_open(options.store, &reader, NULL);
	if (code)
		return code;
	out = open_memstream(&page, &size);
	if (!out)
		return ctl_error(-errno, NULL);
	code = ctl_page_print(out, reader, &options.query, &options.source, &err);
	comm_reader_close(reader);
	ctl_source_deinit(&options.source);
	if (fclose(out) && !code)
		code = -errno;
	if (code)
		code = ctl_error(code, err);
	else
		code = ctl_output_write(options.output, page, size);
	free(page);
	return code;
}
