// SPDX-License-Identifier: GPL-2.0-or-later
/* commctl export: a run for the tools that people have already. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "exporter.h"
#include "open.h"
#include "options.h"
#include "output.h"

enum { KEY_WITHIN = 0x100 };

struct exporter {
	const char *name;
	bool binary;
	const char *by;
	bool others_too, graded, empty_too;
	int (*write)(const struct ctl_export *export, FILE *out, char **err);
};

#define EXPORTER_LINE(name, binary, by, others_too, graded, empty_too, help) \
	{#name, binary, by, others_too, graded, empty_too, ctl_export_##name},
#define EXPORTER_NAME(name, binary, by, others_too, graded, empty_too, help) " " #name
#define EXPORTER_OPTION(name, binary, by, others_too, graded, empty_too, help) \
	{#name, 0, NULL, OPTION_DOC | OPTION_NO_USAGE, help, 0},

static const struct exporter exporters[] = {CTL_EXPORTERS(EXPORTER_LINE)};

struct options {
	struct ctl_options common;
	const struct exporter *exporter;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_AS, .group = 1},
	{.key = CTL_OUTPUT},
	CTL_RANGE_OPTIONS,
	CTL_FILTER_OPTIONS,
	{"within", KEY_WITHIN, NULL, 0, "Also what a thread reads that it wrote itself", 0},
	{.key = CTL_BY, .doc = "Of a matrix: what its rows and columns are; default thread"},
	{.key = CTL_ALL, .doc = "Also what is not confirmed: marked ?, in pprof by the tag grade"},
	{NULL, 0, NULL, 0, "FORM is one of:", 2},
	CTL_EXPORTERS(EXPORTER_OPTION)
	/* The end. */
	{0},
};

static const struct exporter *find(const char *name)
{
	size_t i = 0;

	while (strcmp(exporters[i].name, name) != 0)
		i++;
	return &exporters[i];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	(void)arg;
	switch (key) {
	case KEY_WITHIN:
		options->common.query.across = false;
		options->common.query.self = true;
		return 0;
	case ARGP_KEY_END:
		if (!options->common.form) {
			argp_error(state, "say which form: --as FORM");
			return EINVAL;
		}
		options->exporter = find(options->common.form);
		if (options->exporter->binary && !options->common.output && isatty(STDOUT_FILENO))
			argp_error(state, "%s is no text: name a file by -o, or a pipe",
				   options->exporter->name);
		else if (options->common.query.by && !options->exporter->others_too)
			argp_error(state, "--by is of other formats: %s is by %s",
				   options->exporter->name, options->exporter->by);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
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
	const struct ctl_export export = {.reader = reader,
					  .query = &options->common.query,
					  .report = report,
					  .all = options->common.all};
	char *bytes = NULL, *err = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	int code = out ? options->exporter->write(&export, out, &err) : -errno;

	if (out && (ferror(out) | fclose(out)) && !code)
		code = -ENOMEM;
	code = code ? ctl_error(code, err) : ctl_output_write(options->common.output, bytes, size);
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
	static const char forms[] = CTL_EXPORTERS(EXPORTER_NAME);
	struct options options = {.common.query = COMM_QUERY_INIT};
	struct comm_report *report;
	struct comm_reader *reader;
	char *err;
	int code;

	options.common.query.across = true;
	ctl_options_parse(&argp, forms, argc, argv, &options.common);
	options.common.query.resolved = !options.common.all && !options.exporter->graded;
	if (!options.common.query.by)
		options.common.query.by = options.exporter->by;
	code = ctl_open(options.common.store, &reader, NULL);
	if (code)
		return code;
	code = read_report(reader, &options.common.query, &report, &err);
	if (code) {
		comm_reader_close(reader);
		return ctl_error(code, err);
	}
	if (report->n_shown || options.exporter->empty_too) {
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
