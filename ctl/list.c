// SPDX-License-Identifier: GPL-2.0-or-later
#include "list.h"

#include <stdlib.h>

#include "ctl.h"
#include "json.h"
#include "number.h"
#include "open.h"
#include "options.h"
#include "term.h"

enum {
	LIST_WIDE = 110,
	/* Width of the columns before the target's. */
	LIST_USED = 64,
	LIST_USED_WIDE = 98,
};

static const struct argp_option argp_options[] = {
	{.key = CTL_STORE},
	{.key = CTL_JSON, .doc = "Print JSON"},
	{0},
};

static const struct argp argp = {.options = argp_options,
				 .doc = "The runs in a store, oldest first."};

static const char *const states[] = {
	[COMM_RUN_RUNNING] = "running",
	[COMM_RUN_FINISHED] = "finished",
	[COMM_RUN_UNFINISHED] = "unfinished",
};

void ctl_list_json(FILE *out, const char *path, uint64_t bytes, const struct comm_runs *runs)
{
	struct ctl_json json = {.out = out};

	ctl_json_begin(&json);
	ctl_json_string(&json, "store", path);
	ctl_json_count(&json, "store_bytes", bytes);
	ctl_json_open(&json, "runs", '[');
	for (size_t i = 0; i < comm_runs_count(runs); i++) {
		const struct comm_run *run = comm_runs_at(runs, i);

		ctl_json_open(&json, NULL, '{');
		ctl_json_int(&json, "id", run->id);
		ctl_json_string(&json, "uuid", run->uuid);
		ctl_json_string(&json, "label", run->label);
		ctl_json_string(&json, "state", states[run->state]);
		ctl_json_string(&json, "how", run->how);
		ctl_json_string(&json, "target", run->command);
		ctl_json_string(&json, "host", run->host);
		ctl_json_string(&json, "source", run->source);
		ctl_json_string(&json, "event", run->event);
		ctl_json_string(&json, "estimator", run->estimator);
		ctl_json_count(&json, "start_unix_ns", run->start_unix_ns);
		ctl_json_count(&json, "start_ns", run->start_ns);
		ctl_json_count(&json, "end_ns", run->end_ns);
		ctl_json_count(&json, "slices", run->slices);
		ctl_json_count(&json, "edges", run->edges);
		ctl_json_count(&json, "samples", run->samples);
		ctl_json_double(&json, "overhead_pct", run->overhead * 100);
		ctl_json_count(&json, "deleted_ns", run->deleted_ns);
		ctl_json_count(&json, "stall_ns", run->stall_ns);
		ctl_json_count(&json, "stall_own_ns", run->stall_own_ns);
		ctl_json_count(&json, "store_ns", run->store_ns);
		ctl_json_close(&json, '}');
	}
	ctl_json_close(&json, ']');
	ctl_json_close(&json, '}');
}

/* Prints the columns that fit; the target's gets the rest of the width. */
static void print_text(const char *path, uint64_t bytes, const struct comm_runs *runs)
{
	char start[CTL_NUMBER], length[CTL_NUMBER], edges[CTL_NUMBER], samples[CTL_NUMBER];
	char cost[CTL_NUMBER], slices[CTL_NUMBER], source[16], name[1024], target[1024];
	struct ctl_term term;
	bool wide;

	ctl_term_init(&term);
	wide = term.width >= LIST_WIDE;
	printf("%s%4s  %-*s  %8s  %-10s  %-8s  %6s", ctl_style(&term, CTL_BOLD), "run",
	       wide ? 19 : 16, "start", "length", "state", "source", "slices");
	if (wide)
		printf("  %9s  %9s  %7s", "edges", "samples", "cost");
	printf("  target%s\n", ctl_style(&term, CTL_PLAIN));
	for (size_t i = 0; i < comm_runs_count(runs); i++) {
		const struct comm_run *run = comm_runs_at(runs, i);

		printf("%4lld  %-*.*s  %8s  %-10s  %-8s  %6s", (long long)run->id, wide ? 19 : 16,
		       wide ? 19 : 16, ctl_time(start, run->start_unix_ns),
		       ctl_duration(length, run->end_ns - run->start_ns), states[run->state],
		       ctl_clean(source, sizeof(source), run->source, 8),
		       ctl_count(slices, run->slices));
		if (wide)
			printf("  %9s  %9s  %7s", ctl_count(edges, run->edges),
			       ctl_count(samples, run->samples), ctl_percent(cost, run->overhead));
		snprintf(target, sizeof(target), "%s%s%s", run->label, *run->label ? ": " : "",
			 run->command);
		printf("  %s\n", ctl_clean(name, sizeof(name), target,
					   term.width - (wide ? LIST_USED_WIDE : LIST_USED)));
	}
	ctl_clean(name, sizeof(name), path, sizeof(name) - 1);
	printf("\n%s: %s\n", name, ctl_bytes(length, bytes));
}

int ctl_list(int argc, char **argv)
{
	struct ctl_options options = {0};
	struct comm_reader *reader;
	struct comm_runs *runs;
	const char *path;
	uint64_t bytes;
	char *err;
	size_t n;
	int code;

	ctl_options_parse(&argp, NULL, argc, argv, &options);
	code = ctl_open(options.store, &reader, &path);
	if (code)
		return code;
	bytes = comm_reader_bytes(reader);
	code = comm_reader_runs(reader, &runs, &err);
	comm_reader_close(reader);
	if (code)
		return ctl_error(code, err);
	n = comm_runs_count(runs);
	if (options.form)
		ctl_list_json(stdout, path, bytes, runs);
	else if (n)
		print_text(path, bytes, runs);
	comm_runs_free(runs);
	if (!n) {
		fprintf(stderr, "commctl: the store %s holds no run yet\n", path);
		return CTL_NO_DATA;
	}
	return CTL_OK;
}
