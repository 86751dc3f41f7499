/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that pick a grouping: --by NAME, and --by-NAME for each that the library has. */
#ifndef CTL_BY_H
#define CTL_BY_H

#include <argp.h>
#include <stddef.h>

enum {
	CTL_BY = 0x1000,
	CTL_BY_NAMED, /* and from here on one key for each grouping */
	CTL_BY_MAX = 64,
};

/*
 * Writes a title and --by-NAME of each to option, which has room for CTL_BY_MAX + 1; how many.
 * A library that has more than CTL_BY_MAX groupings offers the others by --by NAME.
 */
size_t ctl_by_options(struct argp_option *option);
/* For CTL_BY and the keys of ctl_by_options() sets *by, or ends with argp's error.  ARGP_ERR_UNKNOWN: another. */
error_t ctl_by_parse(int key, const char *arg, struct argp_state *state, const char **by);

#endif
