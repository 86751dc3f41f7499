// SPDX-License-Identifier: GPL-2.0-or-later
#include "argument.h"

#include <stdlib.h>

#include "comm/comm.h"
#include "number.h"

int64_t ctl_time_argument(struct argp_state *state, const char *option, const char *arg)
{
	int64_t ns = 0;

	if (comm_parse_duration(arg, &ns))
		argp_error(state, "%s wants a time such as 10s, 2m or -30s, not '%s'", option, arg);
	return ns;
}

uint64_t ctl_count_argument(struct argp_state *state, const char *option, uint64_t least,
			    const char *arg)
{
	uint64_t n = 0;

	if (!ctl_parse_count(arg, INT64_MAX, &n) || n < least)
		argp_error(state, "%s wants a whole number from %d on, not '%s'", option,
			   (int)least, arg);
	return n;
}

double ctl_number_argument(struct argp_state *state, const char *option, const char *arg,
			   double least, double most)
{
	char *end;
	double value = strtod(arg, &end);

	if (end != arg && *end == '%')
		end++;
	if (end == arg || *end || !(value >= least && value <= most))
		argp_error(state, "%s wants a number from %g to %g, not '%s'", option, least, most,
			   arg);
	return value;
}

double ctl_percent_argument(struct argp_state *state, const char *option, const char *arg)
{
	return ctl_number_argument(state, option, arg, 0, 100) / 100;
}
