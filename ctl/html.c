// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argument.h"
#include "choice.h"
#include "comparison.h"
#include "ctl.h"
#include "open.h"
#include "output.h"
#include "page.h"
#include "range_options.h"
#include "run.h"

enum {
	KEY_FIRST_READ = 0x100,
	KEY_SOURCE_DIR,
	KEY_FRESH,
	KEY_AGAINST,

	AGAINST_NAME = CTL_PATH + 300,
};

struct options {
	const char *store, *output, *against;
	struct comm_query query;
	struct ctl_source source;
};

static const struct argp_option argp_options[] = {
	{"output", 'o', "FILE", 0, "Where to write the page; - is standard output", 0},
	CTL_RANGE_OPTIONS,
	{"against", KEY_AGAINST, "RUN", 0,
	 "Also what changed from RUN, as commctl diff says it: N or LABEL of this store, FILE, or "
	 "FILE:N",
	 0},
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
	case KEY_AGAINST:
		options->against = arg;
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
		if (options->against && (query->from_ns || query->to_ns))
			argp_error(state,
				   "--against compares whole runs: leave --from and --to out");
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
	const char *path = options->store;
	char file[CTL_PATH], *err = NULL;
	struct comm_runs *runs;
	int64_t run[2] = {0, options->query.run};
	bool is_part = options->query.first_read || options->query.fresh;
	int code;

	*ret = (struct ctl_comparison){.query = options->query, .alarm = 0.05, .margin = 1.5};
	ret->query.label = NULL;
	ret->query.by = is_part ? "thread" : NULL;
	if (options->query.label) {
		code = comm_reader_runs(reader, &runs, &err);
		if (code)
			return ctl_error(code, err);
		run[1] = ctl_run_find(runs, options->query.label);
		comm_runs_free(runs);
	}
	ctl_open_which(options->against, options->store, file, &path, &run[0]);
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
	struct options options = {.query = COMM_QUERY_INIT};
	struct ctl_comparison comparison = {0};
	char name[AGAINST_NAME];
	const struct ctl_page_against against = {&comparison, name};
	struct comm_reader *reader;
	char *page = NULL, *err;
	size_t size = 0;
	FILE *out;
	int code;

	ctl_choice_parse(&argp, argc, argv, &options);
	code = ctl_open(options.store, &reader, NULL);
	if (code)
		return code;
	if (options.against)
		code = compare(&options, reader, &comparison, name);
	if (code)
		goto out;
	out = open_memstream(&page, &size);
	if (!out) {
		code = ctl_error(-errno, NULL);
		goto out;
	}
	code = ctl_page_print(out, reader, &options.query, &options.source,
			      options.against ? &against : NULL, &err);
	if (fclose(out) && !code)
		code = -errno;
	if (code)
		code = ctl_error(code, err);
	else
		code = ctl_output_write(options.output, page, size);
	free(page);
out:
	comm_reader_close(reader);
	ctl_comparison_deinit(&comparison);
	ctl_source_deinit(&options.source);
	return code;
}
