// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "ctl.h"
#include "open.h"
#include "options.h"
#include "output.h"
#include "page.h"

enum {
	KEY_SOURCE_DIR = 0x100,
	KEY_AGAINST,

	AGAINST_NAME = CTL_PATH + 300,
};

struct options {
	struct ctl_options common;
	const char *against;
	struct ctl_source source;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_OUTPUT, .doc = "Where to write the page; - is standard output"},
	CTL_RANGE_OPTIONS,
	{"against", KEY_AGAINST, "RUN", 0,
	 "Also what changed from RUN, as commctl diff says it: N or LABEL of this store, FILE, or "
	 "FILE:N",
	 0},
	{.key = CTL_FIRST_READ},
	{.key = CTL_FRESH},
	{.key = CTL_CONFIDENCE},
	{"source-dir", KEY_SOURCE_DIR, "DIR", 0,
	 "Look for source files beneath DIR, and take the lines that are named into the page; may "
	 "be given several times.  Without it the page has no source",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct comm_query *query = &options->common.query;
	int code;

	switch (key) {
	case KEY_AGAINST:
		options->against = arg;
		return 0;
	case KEY_SOURCE_DIR:
		code = ctl_source_add(&options->source, arg);
		if (code)
			argp_error(state, "--source-dir %s: %s", arg, strerror(-code));
		return 0;
	case ARGP_KEY_END:
		if (!options->common.output)
			argp_error(state, "say where the page goes: -o FILE");
		if (options->against && (query->from_ns || query->to_ns))
			argp_error(state,
				   "--against compares whole runs: leave --from and --to out");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const char doc[] =
	"Writes a run as one HTML page for a browser, which needs no network and no other file: "
	"who feeds whom, by threads, functions and objects, down to lines, and by what else the "
	"run has: roles, processes, callers, marked regions, types, phases and frames; when it was "
	"written and when read; shared cache lines; cost and losses.";

static const struct argp argp = {argp_options, parse, NULL, doc, NULL, NULL, NULL};

/* "run 1 (before) of redis.db" */
static void name_run(char *name, size_t size, const struct comm_run *run, const char *path)
{
	snprintf(name, size, "run %lld%s%.200s%s of %s", (long long)run->id,
		 *run->label ? " (" : "", run->label, *run->label ? ")" : "", path);
}

/* From the run that the user named to that of the page. */
static int compare(const struct options *options, struct comm_reader *reader,
		   struct ctl_comparison *ret, char name[AGAINST_NAME])
{
	struct comm_reader *both[2] = {NULL, reader};
	const char *path = options->common.store;
	char file[CTL_PATH], *err = NULL;
	struct comm_runs *runs;
	int64_t run[2] = {0, options->common.query.run};
	bool is_part = options->common.query.first_read || options->common.query.fresh;
	int code;

	*ret = (struct ctl_comparison){
		.query = options->common.query, .alarm = 0.05, .margin = 1.5};
	ret->query.label = NULL;
	ret->query.by = is_part ? "thread" : NULL;
	if (options->common.query.label) {
		code = comm_reader_runs(reader, &runs, &err);
		if (code)
			return ctl_error(code, err);
		run[1] = ctl_run_find(runs, options->common.query.label);
		comm_runs_free(runs);
	}
	ctl_open_which(options->against, options->common.store, file, &path, &run[0]);
	code = ctl_open(path, &both[0], NULL);
	if (code)
		return code;
	code = ctl_comparison_init(ret, both, run, !is_part, &err);
	comm_reader_close(both[0]);
	if (code)
		return ctl_error(code, err);
	name_run(name, AGAINST_NAME, ret->report[0]->run, path ? path : ctl_store_default());
	return CTL_OK;
}

/* The page is made in memory, so that a run without data leaves the file as it is. */
int ctl_html(int argc, char **argv)
{
	struct options options = {.common.query = COMM_QUERY_INIT};
	struct ctl_comparison comparison = {0};
	char name[AGAINST_NAME];
	const struct ctl_page_against against = {&comparison, name};
	struct ctl_page_ask ask = {.query = &options.common.query, .source = &options.source};
	struct comm_reader *reader;
	char *page = NULL, *err;
	size_t size = 0;
	FILE *out;
	int code;

	ctl_options_parse(&argp, NULL, argc, argv, &options.common);
	code = ctl_open(options.common.store, &reader, NULL);
	if (code)
		return code;
	if (options.against) {
		ask.against = &against;
		code = compare(&options, reader, &comparison, name);
	}
	if (code)
		goto out;
	out = open_memstream(&page, &size);
	if (!out) {
		code = ctl_error(-errno, NULL);
		goto out;
	}
	code = ctl_page_print(out, reader, &ask, &err);
	if (fclose(out) && !code)
		code = -errno;
	if (code)
		code = ctl_error(code, err);
	else
		code = ctl_output_write(options.common.output, page, size);
	free(page);
out:
	comm_reader_close(reader);
	ctl_comparison_deinit(&comparison);
	ctl_source_deinit(&options.source);
	return code;
}
