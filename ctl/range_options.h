/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that say what a command looks at: a store, a run, a part of it, how surely. */
#ifndef CTL_RANGE_OPTIONS_H
#define CTL_RANGE_OPTIONS_H

#include <argp.h>

#include <comm/comm.h>

#include "open.h"
#include "run.h"

enum {
	CTL_RANGE = 0x900,
	CTL_RANGE_FROM = CTL_RANGE,
	CTL_RANGE_TO,
	CTL_RANGE_CONFIDENCE,
};

/* clang-format off */
#define CTL_RANGE_OPTIONS \
	{"store", 's', "FILE", 0, CTL_STORE_HELP, 0}, \
	{"run", 'r', "N|LABEL", 0, CTL_RUN_HELP, 0}, \
	CTL_RANGE_TIMES
#define CTL_RANGE_TIMES \
	{"from", CTL_RANGE_FROM, "TIME", 0, \
	 "Since the run's start: 10s, 2m; before its end: -30s", 0}, \
	{"to", CTL_RANGE_TO, "TIME", 0, "Likewise; default the end", 0}
#define CTL_RANGE_CONFIDENCE_OPTION \
	{"confidence", CTL_RANGE_CONFIDENCE, "PCT", 0, "Of the intervals; default 90", 0}
/* clang-format on */

/* Sets what key is for; ARGP_ERR_UNKNOWN: it is none of the above. */
error_t ctl_range_parse(int key, char *arg, struct argp_state *state, const char **store,
			struct comm_query *query);

#endif
