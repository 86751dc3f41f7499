// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl export: a run for the tools that people have already. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "argument.h"
#include "by.h"
#include "choice.h"
#include "ctl.h"
#include "exporter.h"
#include "filter_options.h"
#include "output.h"
#include "range_options.h"

enum {
	KEY_AS = 0x100,
	KEY_WITHIN,
	KEY_GUESS,
	KEY_BY,
};

struct exporter {
	const char *name;
	bool binary;
	const char *by;
	bool others_too, graded;
	int (*write)(const struct ctl_export *export, FILE *out, char **err);
};

#define EXPORTER_LINE(name, binary, by, others_too, graded, help) \
	{#name, binary, by, others_too, graded, ctl_export_##name},
#define EXPORTER_NAME(name, binary, by, others_too, graded, help) " " #name
#define EXPORTER_OPTION(name, binary, by, others_too, graded, help) \
	{#name, 0, NULL, OPTION_DOC | OPTION_NO_USAGE, help, 0},

static const struct exporter exporters[] = {CTL_EXPORTERS(EXPORTER_LINE)};

struct options {
	const char *store, *file;
	struct comm_query query;
	const struct exporter *exporter;
	bool all;
};

static const struct argp_option argp_options[] = {
	{"as", KEY_AS, "FORMAT", 0, "A format, see below", 1},
	{"output", 'o', "FILE", 0, "Where to; default is stdout", 0},
	CTL_RANGE_OPTIONS,
	CTL_FILTER_OPTIONS{"within", KEY_WITHIN, NULL, 0,
			   "Also what a thread reads that it wrote itself", 0},
	{"by", KEY_BY, "NAME", 0, "Of a matrix: what its rows and columns are; default thread", 0},
	{"all", 'a', NULL, 0, "Also what is not confirmed: marked ?, in pprof by the tag grade", 0},
	{"guess", KEY_GUESS, NULL, 0, "As --all, and with guesses, as in commctl report", 0},
	{NULL, 0, NULL, 0, "FORMAT is one of:", 2},
	CTL_EXPORTERS(EXPORTER_OPTION)
	/* The end. */
	{0},
};

static void set_exporter(struct argp_state *state, struct options *options, const char *name)
{
	static const char names[] = CTL_EXPORTERS(EXPORTER_NAME);

	for (size_t i = 0; i < sizeof(exporters) / sizeof(*exporters); i++)
		if (!strcmp(exporters[i].name, name))
			options->exporter = &exporters[i];
	if (!options->exporter || strcmp(options->exporter->name, name))
		ctl_choice_error(state, "format", name, names);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_AS:
		set_exporter(state, options, arg);
		return 0;
	case 'o':
		options->file = arg;
		return 0;
	case KEY_WITHIN:
		options->query.across = false;
		options->query.self = true;
		return 0;
	case 'a':
		options->all = true;
		return 0;
	case KEY_BY:
		return ctl_by_parse(CTL_BY, arg, state, &options->query.by);
	case KEY_GUESS:
		options->all = true;
		options->query.guess = 1;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many", arg);
		return EINVAL;
	case ARGP_KEY_END:
		if (!options->exporter)
			argp_error(state, "say which format: --as FORMAT");
		else if (options->exporter->binary && !options->file && isatty(STDOUT_FILENO))
			argp_error(state, "%s is no text: name a file by -o, or a pipe",
				   options->exporter->name);
		else if (options->query.by && !options->exporter->others_too)
			argp_error(state, "--by is of other formats: %s is by %s",
				   options->exporter->name, options->exporter->by);
		return 0;
	}
	if (ctl_range_parse(key, arg, state, &options->store, &options->query) == 0)
		return 0;
	return ctl_filter_parse(key, arg, &options->query);
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "A run in the format of another tool.  In stacks each edge between threads is one, "
	       "whose leaf is the function that read, below it the object, and at the root the "
	       "function that wrote; of a run of commd --callers with the functions that called "
	       "them.",
};

/* Made in memory, so that what fails leaves the file as it was. */
static int write_out(const struct options *options, struct comm_reader *reader,
		     const struct comm_report *report)
{
	const struct ctl_export export = {reader, &options->query, report, options->all};
	char *bytes = NULL, *err = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	int code = out ? options->exporter->write(&export, out, &err) : -errno;

	if (out && (ferror(out) | fclose(out)) && !code)
		code = -ENOMEM;
	code = code ? ctl_error(code, err) : ctl_output_write(options->file, bytes, size);
	free(bytes);
	return code;
}

/* Stacks are of paths where the run has callers. */
static int read_report(struct comm_reader *reader, struct comm_query *query,
		       struct comm_report **ret, char **err)
{
	int code;

	if (!strcmp(query->by, CTL_EXPORT_STACKS)) {
		query->by = CTL_EXPORT_PATHS;
		code = comm_reader_report(reader, query, ret, err);
		if (code != -ENODATA)
			return code;
		free(*err);
		query->by = CTL_EXPORT_STACKS;
	}
	return comm_reader_report(reader, query, ret, err);
}

int ctl_export(int argc, char **argv)
{
	struct options options = {.query = COMM_QUERY_INIT};
	struct comm_report *report;
	struct comm_reader *reader;
	char *err;
	int code;

	options.query.across = true;
	ctl_choice_parse(&argp, argc, argv, &options);
	options.query.resolved = !options.all && !options.exporter->graded;
	if (!options.query.by)
		options.query.by = options.exporter->by;
	code = ctl_open(options.store, &reader, NULL);
	if (code)
		return code;
	code = read_report(reader, &options.query, &report, &err);
	if (code) {
		comm_reader_close(reader);
		return ctl_error(code, err);
	}
	if (report->n_shown) {
		code = write_out(&options, reader, report);
	} else {
		fprintf(stderr,
			"commctl: nothing to export: none of %zu flows is confirmed, see what "
			"\"commctl report\" says; --all exports them all the same\n",
			report->n_edges);
		code = CTL_NO_DATA;
	}
	comm_report_free(report);
	comm_reader_close(reader);
	return code;
}
