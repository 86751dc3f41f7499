/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that several commands of commctl have.  A command lists what it takes: its own options in full,
 * and of these the key alone, {.key = CTL_STORE}, with another .doc where it means something else there.  Name,
 * argument and help stand in the table of options.c, and what the user gave in struct ctl_options.
 */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include <comm/comm.h>

#include "by.h"

enum {
	CTL_ALL = 'a',
	CTL_JSON = 'j',
	CTL_TOP = 'k',
	CTL_OUTPUT = 'o',
	CTL_RUN = 'r',
	CTL_STORE = 's',
	CTL_THREAD = 't',
	CTL_VERBOSE = 'v',

	CTL_FROM = 0x800,
	CTL_TO,
	CTL_CONFIDENCE,
	CTL_FUNCTION,
	CTL_OBJECT,
	CTL_FIRST_READ,
	CTL_FRESH,
	CTL_ACROSS,
	CTL_SELF,
	CTL_MIN_SHARE,
	CTL_AS,
	CTL_CSV,
};

/* clang-format off */
/* What a command looks at: a store, a run, a part of it. */
#define CTL_RANGE_OPTIONS {.key = CTL_STORE}, {.key = CTL_RUN}, {.key = CTL_FROM}, {.key = CTL_TO}
/* Edges of a run by who and what they are of. */
#define CTL_FILTER_OPTIONS \
	{.key = CTL_THREAD}, {.key = CTL_FUNCTION}, {.key = CTL_OBJECT}, {.key = CTL_FIRST_READ}, \
	{.key = CTL_FRESH}
/* clang-format on */

struct ctl_options {
	const char *store, *output; /* NULL: by default */
	const char *form;	    /* of --as; NULL: none was chosen */
	struct comm_query query;
	bool has_top, has_min_share; /* of the query, by the user */
	bool all, verbose;
	/* Of the command: its own options, and the forms that --as takes, " text json". */
	argp_parser_t own;
	const char *forms;
};

/*
 * Parses the command line by the options of that argp, whose parser, or NULL, is asked first and returns
 * ARGP_ERR_UNKNOWN for what it leaves to this one; without one for ARGP_KEY_ARG no word may follow.
 * The parser has the options as state->input: a command that has more keeps them as the first member of its own.
 */
void ctl_options_parse(const struct argp *argp, const char *forms, int argc, char **argv,
		       struct ctl_options *options);
/* --NAME, as short for --as NAME */
void ctl_options_set_form(struct argp_state *state, const char *name);

#endif
