// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead.h"

#include <errno.h>
#include <stdlib.h>

static const double LEAST = 0.01, MOST = 50;

int comm_overhead_parse(const char *text, double *ret)
{
	char *end;
	double percent = strtod(text, &end);

	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(percent >= LEAST && percent <= MOST))
		return -EINVAL;
	*ret = percent / 100;
	return 0;
}
