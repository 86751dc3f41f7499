// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include <comm/comm.h>

#include "ctl.h"
#include "open.h"
#include "options.h"

struct options {
	struct ctl_options common;
	const char *to;
};

static const struct argp_option argp_options[] = {
	{.key = CTL_STORE, .doc = "The damaged store; default ./" CTL_STORE_HERE},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (options->to)
			argp_error(state, "'%s' is one word too many", arg);
		options->to = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->to)
			argp_error(state, "name the new store to write");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {argp_options,
				 parse,
				 "NEW",
				 "Copies what can be read of a damaged store into a new one, NEW. "
				 "The damaged one is left as it is.",
				 NULL,
				 NULL,
				 NULL};

int ctl_salvage(int argc, char **argv)
{
	struct options options = {.common.store = CTL_STORE_HERE};
	struct comm_salvaged saved = {.size = sizeof(saved)};
	char *err;
	int code;

	ctl_options_parse(&argp, NULL, argc, argv, &options.common);
	code = comm_salvage(options.common.store, options.to, &saved, &err);
	if (code)
		return ctl_error(code, err);
	printf("%llu runs with %llu slices and %llu edges are in %s\n",
	       (unsigned long long)saved.runs, (unsigned long long)saved.slices,
	       (unsigned long long)saved.edges, options.to);
	if (saved.gaps)
		printf("%llu places of %s could not be read; %llu slices lack edges, and say so\n",
		       (unsigned long long)saved.gaps, options.common.store,
		       (unsigned long long)saved.partial);
	return CTL_OK;
}
