/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that pick edges of a run by who and what they are of, and their words in titles. */
#ifndef CTL_FILTER_OPTIONS_H
#define CTL_FILTER_OPTIONS_H

#include <argp.h>

#include <comm/comm.h>

enum {
	CTL_FILTER = 0x800,
	CTL_FILTER_FUNCTION = CTL_FILTER,
	CTL_FILTER_OBJECT,
	CTL_FILTER_FIRST_READ,
	CTL_FILTER_FRESH,

	CTL_FILTER_TEXT = 256,
};

#define CTL_FILTER_OPTIONS                                                                        \
	{"thread", 't', "ID|NAME", 0, "What a thread writes or reads; NAME may be 'io_*'", 0},    \
		{"function",                                                                      \
		 CTL_FILTER_FUNCTION,                                                             \
		 "NAME",                                                                          \
		 0,                                                                               \
		 "What a function writes or reads; NAME may be 'lock_*', 'ns::*'",                \
		 0},                                                                              \
		{"object",                                                                        \
		 CTL_FILTER_OBJECT,                                                               \
		 "NAME",                                                                          \
		 0,                                                                               \
		 "What goes through a data object, likewise",                                     \
		 0},                                                                              \
		{"first-read",                                                                    \
		 CTL_FILTER_FIRST_READ,                                                           \
		 NULL,                                                                            \
		 0,                                                                               \
		 "Count only the first read of what was written, as with a perfect cache",        \
		 0},                                                                              \
		{"fresh",                                                                         \
		 CTL_FILTER_FRESH,                                                                \
		 NULL,                                                                            \
		 0,                                                                               \
		 "Who feeds whom with fresh data, by windows on words drawn at random, not what " \
		 "the estimator says",                                                            \
		 0},

/* Sets what key is for; ARGP_ERR_UNKNOWN: it is none of CTL_FILTER_OPTIONS. */
error_t ctl_filter_parse(int key, const char *arg, struct comm_query *query);
/* ", from or to T, function F, object O"; "": the query is for all.  Returns text. */
const char *ctl_filter_text(char text[CTL_FILTER_TEXT], const struct comm_query *query);

#endif
