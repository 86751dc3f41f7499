// SPDX-License-Identifier: GPL-2.0-or-later
#include "range_options.h"

#include "argument.h"

error_t ctl_range_parse(int key, char *arg, struct argp_state *state, const char **store,
			struct comm_query *query)
{
	switch (key) {
	case 's':
		*store = arg;
		return 0;
	case 'r':
		ctl_run_parse(state, arg, query);
		return 0;
	case CTL_RANGE_FROM:
		query->from_ns = ctl_time_argument(state, "--from", arg);
		return 0;
	case CTL_RANGE_TO:
		query->to_ns = ctl_end_argument(state, arg);
		return 0;
	case CTL_RANGE_CONFIDENCE:
		query->confidence = ctl_confidence_argument(state, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}
